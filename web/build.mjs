// Makes page.html: one file with everything in it, which the build of Pergola takes into the program.
//   node build.mjs           writes page.html
//   node build.mjs --check   exit code 1 where page.html is not what the sources give
import * as esbuild from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const bundle = async (entry) => {
  const made = await esbuild.build({
    entryPoints: [join(here, entry)], bundle: true, minify: true, write: false, target: "es2020", charset: "utf8", legalComments: "none",
  });
  return made.outputFiles[0].text.trim();
};
const [code, style] = [await bundle("src/main.ts"), await bundle("src/style.css")];
const page = readFileSync(join(here, "src/index.html"), "utf8")
  .replace("/*STYLE*/", () => style)
  .replace("/*CODE*/", () => code.replaceAll("</script", "<\\/script"));
const target = join(here, "page.html");
if (process.argv.includes("--check")) {
  if (readFileSync(target, "utf8") !== page) {
    console.error("web/page.html is not what web/src gives: run npm run build in web/");
    process.exit(1);
  }
} else {
  writeFileSync(target, page);
  console.log(`page.html: ${Math.round(page.length / 1024)} KB`);
}
