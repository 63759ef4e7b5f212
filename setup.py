"""pip install --no-build-isolation .  builds libpergola and the module with CMake (scripts/python.sh) and installs both into the
environment; no network is needed. With PERGOLA_BUILD=build/release an existing build tree serves."""
import glob
import os
import shutil
import subprocess

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = os.path.dirname(os.path.abspath(__file__))


class CMakeBuild(build_ext):
    def build_extension(self, extension):
        build = os.environ.get("PERGOLA_BUILD")
        if build is None:
            subprocess.run([os.path.join(ROOT, "scripts", "python.sh")], check=True)
            build = os.path.join(ROOT, "build", "release")
        package = os.path.dirname(os.path.abspath(self.get_ext_fullpath(extension.name)))
        os.makedirs(package, exist_ok=True)
        modules = glob.glob(os.path.join(build, "python", "pergola", "_core*.so"))
        libraries = glob.glob(os.path.join(build, "lib", "libpergola.so.[0-9]"))
        if not modules or not libraries:
            raise SystemExit(f"{build}: expected python/pergola/_core*.so and lib/libpergola.so.*, found none")
        # The library travels inside the package: the module looks for it beside itself first.
        for file in modules + libraries:
            shutil.copy(os.path.realpath(file), os.path.join(package, os.path.basename(file)))
        for file in modules:
            subprocess.run(["cmake", f"-DMODULE={os.path.join(package, os.path.basename(file))}", "-P",
                            os.path.join(ROOT, "cmake", "RelocateModule.cmake")], check=True)


setup(
    packages=["pergola"],
    package_dir={"pergola": "src/python/pergola"},
    package_data={"pergola": ["py.typed", "*.pyi"]},
    ext_modules=[Extension("pergola._core", sources=[])],
    cmdclass={"build_ext": CMakeBuild},
    zip_safe=False,
)
