// libgausscope_video.so: a video file from pictures by libavcodec, libavformat and libswscale.
// YUV 4:2:0 in BT.709, limited range, tagged so; MP4 with its index in front. Opened at run time by
// ../video_writer.cpp, and links nothing of gausscope.
extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/opt.h>
#include <libswscale/swscale.h>
}

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "renderer/io/video/video_plugin.h"

namespace gs::video {
namespace {

/// What went wrong, in words; empty: nothing.
using Problem = std::string;

Problem problem(const char* what, int code) {
    if (code >= 0) return {};
    char words[AV_ERROR_MAX_STRING_SIZE] = {};
    av_strerror(code, words, sizeof words);
    return std::string(what) + ": " + words;
}

/// Constant quality: encoders count from 0 (best) to 51 or 63; 75 is hard to tell from the
/// pictures. libopenh264 knows bit rates only; librav1e, and libsvtav1 before FFmpeg 5.1, a
/// quantizer. Below 0: libav's error, this encoder cannot be set up.
int set_quality(AVCodecContext& codec, const std::string& name, const PluginOptions& options) {
    const double worse = 100 - options.quality;
    const bool av1 = name != "libx264" && name != "libopenh264";
    const int crf = static_cast<int>(std::lround(av1 ? 18 + 0.42 * worse : 10 + 0.32 * worse));
    int code = 0;
    if (name == "libopenh264") {
        codec.bit_rate =
            static_cast<std::int64_t>(0.12 * options.width * options.height * options.fps *
                                      std::exp2((options.quality - 75) / 12.0));
    } else {
        codec.bit_rate = 0;  // which would come before it
        code = av_opt_set_int(codec.priv_data, "crf", crf, 0);
        const int quantizer = name == "librav1e" ? std::min(4 * crf, 255) : crf;  // that has 255
        if (code < 0) code = av_opt_set_int(codec.priv_data, "qp", quantizer, 0);
    }
    if (name == "libx264") av_opt_set(codec.priv_data, "preset", "medium", 0);
    if (name == "libsvtav1") av_opt_set(codec.priv_data, "preset", "8", 0);
    if (name == "libaom-av1") {
        av_opt_set_int(codec.priv_data, "cpu-used", 6, 0);
        av_opt_set_int(codec.priv_data, "row-mt", 1, 0);
    }
    return code;
}

class Video {
  public:
    ~Video() {
        if (file_ && file_->pb) avio_closep(&file_->pb);
        avformat_free_context(file_);
        avcodec_free_context(&codec_);
        av_frame_free(&frame_);
        av_packet_free(&packet_);
        sws_freeContext(convert_);
    }

    Problem open(const PluginOptions& options) {
        av_log_set_level(AV_LOG_FATAL);
        if (auto p = problem(
                "no such container",
                avformat_alloc_output_context2(&file_, nullptr, options.container, options.file));
            !p.empty())
            return p;
        if (auto p = open_encoder(options); !p.empty()) return p;
        stream_ = avformat_new_stream(file_, nullptr);
        if (!stream_) return "out of memory";
        stream_->time_base = codec_->time_base;
        stream_->avg_frame_rate = codec_->framerate;
        if (auto p =
                problem("the stream", avcodec_parameters_from_context(stream_->codecpar, codec_));
            !p.empty())
            return p;
        if (auto p = open_converter(); !p.empty()) return p;
        if (auto p =
                problem("cannot be written", avio_open(&file_->pb, options.file, AVIO_FLAG_WRITE));
            !p.empty())
            return p;
        AVDictionary* header = nullptr;
        av_dict_set(&header, "movflags", "+faststart", 0);
        const int code = avformat_write_header(file_, &header);
        av_dict_free(&header);
        return problem("cannot be written", code);
    }

    Problem add(const std::uint8_t* rgba) {
        if (auto p = problem("out of memory", av_frame_make_writable(frame_)); !p.empty()) return p;
        const int stride = 4 * codec_->width;
        sws_scale(convert_, &rgba, &stride, 0, codec_->height, frame_->data, frame_->linesize);
        frame_->pts = next_++;
        return encode(frame_);
    }

    Problem finish() {
        if (auto p = encode(nullptr); !p.empty()) return p;
        if (auto p = problem("cannot be written", av_write_trailer(file_)); !p.empty()) return p;
        return problem("cannot be written", avio_closep(&file_->pb));
    }

    const char* encoder() const { return name_.c_str(); }

  private:
    Problem open_encoder(const PluginOptions& options) {
        Problem all = "no encoder for";
        const std::string names = options.encoders;
        for (std::size_t at = 0; at < names.size();) {
            const std::size_t end = std::min(names.find(',', at), names.size());
            name_ = names.substr(at, end - at);
            at = end + 1;
            const AVCodec* const found = avcodec_find_encoder_by_name(name_.c_str());
            if (!found) {
                all += " " + name_;
                continue;
            }
            // It writes a page about itself to stderr, and listens to nothing else.
            if (name_ == "libsvtav1") setenv("SVT_LOG", "0", 0);
            const Problem p = problem(name_.c_str(), try_encoder(*found, options));
            if (p.empty()) return {};
            all += " " + p;
            avcodec_free_context(&codec_);
        }
        return all + " in this machine's libavcodec";
    }

    int try_encoder(const AVCodec& codec, const PluginOptions& options) {
        codec_ = avcodec_alloc_context3(&codec);
        if (!codec_) return AVERROR(ENOMEM);
        codec_->width = options.width;
        codec_->height = options.height;
        codec_->pix_fmt = AV_PIX_FMT_YUV420P;
        codec_->framerate = av_d2q(options.fps, 1001000);
        codec_->time_base = av_inv_q(codec_->framerate);
        codec_->gop_size = std::max(1, static_cast<int>(std::lround(2 * options.fps)));
        codec_->colorspace = AVCOL_SPC_BT709;
        codec_->color_primaries = AVCOL_PRI_BT709;
        codec_->color_trc = AVCOL_TRC_BT709;
        codec_->color_range = AVCOL_RANGE_MPEG;
        codec_->thread_count = 0;
        if (file_->oformat->flags & AVFMT_GLOBALHEADER)
            codec_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
        if (const int code = set_quality(*codec_, name_, options); code < 0) return code;
        return avcodec_open2(codec_, &codec, nullptr);
    }

    Problem open_converter() {
        frame_ = av_frame_alloc();
        packet_ = av_packet_alloc();
        if (!frame_ || !packet_) return "out of memory";
        frame_->format = codec_->pix_fmt;
        frame_->width = codec_->width;
        frame_->height = codec_->height;
        frame_->colorspace = codec_->colorspace;
        frame_->color_range = codec_->color_range;
        if (auto p = problem("out of memory", av_frame_get_buffer(frame_, 0)); !p.empty()) return p;
        convert_ = sws_getContext(codec_->width, codec_->height, AV_PIX_FMT_RGBA, codec_->width,
                                  codec_->height, codec_->pix_fmt,
                                  SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INP, nullptr,
                                  nullptr, nullptr);
        if (!convert_) return "colours cannot be converted";
        const int unity = 1 << 16;
        sws_setColorspaceDetails(convert_, sws_getCoefficients(SWS_CS_ITU709), 1,
                                 sws_getCoefficients(SWS_CS_ITU709), 0, 0, unity, unity);
        return {};
    }

    /// Null: nothing more comes.
    Problem encode(const AVFrame* frame) {
        if (auto p = problem("encoding failed", avcodec_send_frame(codec_, frame)); !p.empty())
            return p;
        for (;;) {
            const int code = avcodec_receive_packet(codec_, packet_);
            if (code == AVERROR(EAGAIN) || code == AVERROR_EOF) return {};
            if (auto p = problem("encoding failed", code); !p.empty()) return p;
            if (packet_->duration == 0) packet_->duration = 1;
            av_packet_rescale_ts(packet_, codec_->time_base, stream_->time_base);
            packet_->stream_index = stream_->index;
            if (auto p = problem("cannot be written", av_interleaved_write_frame(file_, packet_));
                !p.empty())
                return p;
        }
    }

    AVFormatContext* file_ = nullptr;
    AVCodecContext* codec_ = nullptr;
    AVStream* stream_ = nullptr;  // file_'s
    AVFrame* frame_ = nullptr;
    AVPacket* packet_ = nullptr;
    SwsContext* convert_ = nullptr;
    std::string name_;
    std::int64_t next_ = 0;
};

bool told(const Problem& p, char* error, std::size_t bytes) {
    if (!p.empty()) std::snprintf(error, bytes, "%s", p.c_str());
    return p.empty();
}

void* open_video(const PluginOptions* options, char* error, std::size_t bytes) {
    auto video = std::make_unique<Video>();
    return told(video->open(*options), error, bytes) ? video.release() : nullptr;
}
const char* encoder_of(void* video) { return static_cast<Video*>(video)->encoder(); }
bool add_to(void* video, const std::uint8_t* rgba, char* error, std::size_t bytes) {
    return told(static_cast<Video*>(video)->add(rgba), error, bytes);
}
bool finish_video(void* video, char* error, std::size_t bytes) {
    return told(static_cast<Video*>(video)->finish(), error, bytes);
}
void close_video(void* video) { delete static_cast<Video*>(video); }

}  // namespace
}  // namespace gs::video

extern "C" __attribute__((visibility("default"))) const gs::video::Plugin*
gausscope_video_plugin() {
    using namespace gs::video;
    static const Plugin plugin{kPluginVersion, open_video,   encoder_of,
                               add_to,         finish_video, close_video};
    return &plugin;
}
