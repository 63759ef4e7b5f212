#include "picture/gif.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

namespace pergola {

namespace {

constexpr std::size_t colors_most = 256;

std::uint32_t packed(Color c) { return static_cast<std::uint32_t>(c.r << 16 | c.g << 8 | c.b); }
int channel(Color c, int k) { return k == 0 ? c.r : k == 1 ? c.g : c.b; }

struct Counted {
  Color color;
  std::uint64_t count = 0;
};

/// Colours that will be one.
struct ColorBox {
  std::vector<Counted> colors;
  std::uint64_t count = 0;
  int widest = 0, extent = 0;  // the channel in which they differ most, and how far

  explicit ColorBox(std::vector<Counted> held) : colors(std::move(held)) {
    for (const auto& one : colors) count += one.count;
    for (int k = 0; k < 3; ++k) {
      const auto [low, high] = std::minmax_element(colors.begin(), colors.end(), [k](const auto& a, const auto& b) {
        return channel(a.color, k) < channel(b.color, k);
      });
      const int size = channel(high->color, k) - channel(low->color, k);
      if (size > extent) widest = k, extent = size;
    }
  }

  Color mean() const {
    std::array<std::uint64_t, 3> sum{};
    for (const auto& one : colors)
      for (int k = 0; k < 3; ++k)
        sum[static_cast<std::size_t>(k)] += one.count * static_cast<unsigned>(channel(one.color, k));
    const auto part = [&](std::size_t k) { return static_cast<std::uint8_t>((sum[k] + count / 2) / count); };
    return {part(0), part(1), part(2)};
  }
};

/// The box in two, with about as many pixels in each; the sorting has no ties, so that the same picture has the same
/// colours.
std::pair<ColorBox, ColorBox> halves(ColorBox box) {
  auto& colors = box.colors;
  std::sort(colors.begin(), colors.end(), [&](const Counted& a, const Counted& b) {
    const int ca = channel(a.color, box.widest), cb = channel(b.color, box.widest);
    return ca != cb ? ca < cb : packed(a.color) < packed(b.color);
  });
  std::uint64_t below = 0;
  std::size_t cut = 0;
  while (cut + 1 < colors.size() && (cut == 0 || 2 * below < box.count)) below += colors[cut++].count;
  const auto middle = colors.begin() + static_cast<std::ptrdiff_t>(cut);
  return {ColorBox({colors.begin(), middle}), ColorBox({middle, colors.end()})};
}

/// Bits of codes, the lowest first, in blocks of up to 255 bytes (GIF89a, "Table Based Image Data").
class CodeStream {
 public:
  void put(std::uint32_t code, int bits) {
    held_ |= code << count_;
    for (count_ += bits; count_ >= 8; count_ -= 8, held_ >>= 8) push(static_cast<char>(held_ & 255));
  }
  std::string finish() {
    if (count_ > 0) push(static_cast<char>(held_ & 255));
    flush();
    text_ += '\0';
    return std::move(text_);
  }

 private:
  void push(char byte) {
    block_ += byte;
    if (block_.size() == 255) flush();
  }
  void flush() {
    if (block_.empty()) return;
    text_ += static_cast<char>(block_.size());
    text_ += block_;
    block_.clear();
  }
  std::uint32_t held_ = 0;
  int count_ = 0;
  std::string block_, text_;
};

/// Lempel, Ziv & Welch (Welch 1984), with codes of 9 to 12 bits as GIF has them.
std::string compress(const std::vector<std::uint8_t>& pixels) {
  constexpr std::uint32_t clear = 256, end = 257, first_free = 258, codes_most = 4096;
  CodeStream out;
  std::unordered_map<std::uint32_t, std::uint32_t> known;  // code and next byte → code
  std::uint32_t next = first_free;
  int bits = 9;
  out.put(clear, bits);
  std::uint32_t code = pixels[0];
  for (std::size_t i = 1; i < pixels.size(); ++i) {
    const std::uint32_t key = code << 8 | pixels[i];
    if (const auto found = known.find(key); found != known.end()) {
      code = found->second;
      continue;
    }
    out.put(code, bits);
    if (next == codes_most) {
      out.put(clear, bits);
      known.clear();
      next = first_free;
      bits = 9;
    } else {
      if (next == 1u << bits) ++bits;  // the reader has one entry fewer than we have
      known.emplace(key, next++);
    }
    code = pixels[i];
  }
  out.put(code, bits);
  if (next == 1u << bits && bits < 12) ++bits;
  out.put(end, bits);
  return out.finish();
}

std::string number(int value) { return {static_cast<char>(value & 255), static_cast<char>(value >> 8 & 255)}; }

}  // namespace

IndexedImage reduce_colors(const Image& image) {
  std::unordered_map<std::uint32_t, std::uint64_t> counts;
  for (const Color c : image.pixels()) ++counts[packed(c)];
  std::vector<Counted> all;
  for (const auto& [code, count] : counts)
    all.push_back(
        {{static_cast<std::uint8_t>(code >> 16), static_cast<std::uint8_t>(code >> 8), static_cast<std::uint8_t>(code)},
         count});
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return packed(a.color) < packed(b.color); });
  std::vector<ColorBox> boxes;
  if (all.size() <= colors_most)
    for (const auto& one : all) boxes.push_back(ColorBox({one}));
  else
    boxes.push_back(ColorBox(std::move(all)));
  while (boxes.size() < colors_most) {
    const auto worst = std::max_element(boxes.begin(), boxes.end(), [](const ColorBox& a, const ColorBox& b) {
      const auto weight = [](const ColorBox& box) {
        return static_cast<double>(box.extent) * std::sqrt(static_cast<double>(box.count));
      };
      return weight(a) < weight(b);
    });
    if (worst->extent == 0) break;
    auto [low, high] = halves(std::move(*worst));
    *worst = std::move(low);
    boxes.push_back(std::move(high));
  }
  IndexedImage indexed;
  std::unordered_map<std::uint32_t, std::uint8_t> place;
  for (const auto& box : boxes) {
    for (const auto& one : box.colors) place[packed(one.color)] = static_cast<std::uint8_t>(indexed.colors.size());
    indexed.colors.push_back(box.mean());
  }
  for (const Color c : image.pixels()) indexed.pixels.push_back(place[packed(c)]);
  return indexed;
}

std::string gif_beginning(int width, int height) {
  std::string text = "GIF89a" + number(width) + number(height);
  text += std::string("\x70\x00\x00", 3);                                  // 8 bits per channel, no table for all
  text += std::string("\x21\xFF\x0BNETSCAPE2.0\x03\x01\x00\x00\x00", 19);  // again and again
  return text;
}

std::string gif_frame(const Image& image, int hundredths) {
  const IndexedImage indexed = reduce_colors(image);
  std::string text("\x21\xF9\x04\x04", 4);  // stays until the next one
  text += number(hundredths) + std::string("\x00\x00", 2);
  text += "\x2C" + number(0) + number(0) + number(image.width()) + number(image.height());
  text += '\x87';  // with a table of 256 colours
  for (std::size_t k = 0; k < colors_most; ++k) {
    const Color c = k < indexed.colors.size() ? indexed.colors[k] : Color{};
    text += {static_cast<char>(c.r), static_cast<char>(c.g), static_cast<char>(c.b)};
  }
  text += '\x08';  // bits of a pixel
  return text + compress(indexed.pixels);
}

std::string gif_end() { return "\x3B"; }

}  // namespace pergola
