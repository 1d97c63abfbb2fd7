// Loading when memory is short. The program's own malloc fails where a test requests it, for the
// C libraries of the codecs and for operator new alike.
#include <atomic>

#include "renderer/io/captures/capture_io.h"
#include "renderer/io/images/codecs.h"
#include "renderer/io/images/webp.h"
#include "tests/unit/io_files.h"

namespace {

std::atomic<std::size_t> refuse_from{~std::size_t{0}};
std::atomic<bool> refuse_threads{false};
thread_local bool main_thread = false;

bool too_large(std::size_t size) { return size >= refuse_from; }

}  // namespace

extern "C" void* __libc_malloc(std::size_t size);
extern "C" void* __libc_calloc(std::size_t count, std::size_t size);
extern "C" void* malloc(std::size_t size) noexcept {
    return too_large(size) || (refuse_threads && !main_thread) ? nullptr : __libc_malloc(size);
}
extern "C" void* calloc(std::size_t count, std::size_t size) noexcept {
    // Also in threads that have no memory: the C library itself ends the program without it.
    return too_large(count * size) ? nullptr : __libc_calloc(count, size);
}

namespace gs::test {
namespace {

TEST(ShortOfMemory, PngSaysSo) {
    const TempFolder folder;
    put_png(folder / "a.png", pattern(16, 16, 3));
    const auto bytes = read_file(folder / "a.png");
    refuse_from = 600;  // the library's own structures
    const auto image = decode_png(*bytes, "a.png");
    refuse_from = ~std::size_t{0};
    ASSERT_FALSE(image);
    EXPECT_EQ(image.error().kind, ErrorKind::unreadable);
    EXPECT_EQ(image.error().message, "not enough memory to decode it");
}

TEST(ShortOfMemory, WebpSaysSo) {
    const Image8 from = pattern(64, 64, 4);
    const auto bytes = required(encode_webp({64, 64, from.bytes}, {}));
    refuse_from = 4 * 64 * 64 + 1;  // the picture fits, what decoding needs beside it does not
    const auto image = decode_webp(bytes, "a.webp", 1, 1 << 20, {});
    refuse_from = ~std::size_t{0};
    ASSERT_FALSE(image);
    EXPECT_EQ(image.error().kind, ErrorKind::unreadable);
    EXPECT_THAT(image.error().text(), HasSubstr("does not fit into memory"));
}

// What a loading thread throws would end the program; even an error's words need memory.
TEST(ShortOfMemory, LoadingThreadsWithNoneSkipTheirPhotos) {
    main_thread = true;
    const TempFolder folder;
    ColmapFiles files;
    files.write_capture(folder);
    const CaptureOptions options{.threads = 2};
    refuse_threads = true;
    const auto capture = load_capture(folder.path(), options);
    refuse_threads = false;
    ASSERT_FALSE(capture);
    EXPECT_THAT(capture.error().text(), HasSubstr("no view is left, 3 skipped; a.png: not enough "
                                                  "memory to decode it (use fewer threads)"));
}

}  // namespace
}  // namespace gs::test
