// The pictures of a video file, decoded by libav itself: what a player would show. Used by the
// tests of videos.
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libswscale/swscale.h>
}

#include <vector>

#include "base/file.h"
#include "renderer/scene/image.h"

namespace gs::test {

struct DecodedVideo {
    std::vector<Image8> pictures;  ///< RGB
    double fps = 0;
    bool bt709 = false;  ///< all three tags say so
};

inline Image8 rgb_of(const AVFrame& frame) {
    Image8 out{frame.width, frame.height, 3, {}};
    out.bytes.resize(out.pixels() * 3);
    SwsContext* const convert = sws_getContext(
        frame.width, frame.height, static_cast<AVPixelFormat>(frame.format), frame.width,
        frame.height, AV_PIX_FMT_RGB24, SWS_BICUBIC | SWS_ACCURATE_RND, nullptr, nullptr, nullptr);
    sws_setColorspaceDetails(convert, sws_getCoefficients(SWS_CS_ITU709), 0,
                             sws_getCoefficients(SWS_CS_ITU709), 1, 0, 1 << 16, 1 << 16);
    std::uint8_t* const rows = out.bytes.data();
    const int stride = 3 * frame.width;
    sws_scale(convert, frame.data, frame.linesize, 0, frame.height, &rows, &stride);
    sws_freeContext(convert);
    return out;
}

/// No pictures: it cannot be decoded.
inline DecodedVideo decode(const fs::path& path) {
    DecodedVideo out;
    AVFormatContext* file = nullptr;
    if (avformat_open_input(&file, path.c_str(), nullptr, nullptr) < 0) return out;
    const AVStream& stream = *file->streams[0];
    const AVCodec* const codec = avcodec_find_decoder(stream.codecpar->codec_id);
    AVCodecContext* context = avcodec_alloc_context3(codec);
    avcodec_parameters_to_context(context, stream.codecpar);
    AVPacket* packet = av_packet_alloc();
    AVFrame* frame = av_frame_alloc();
    if (avcodec_open2(context, codec, nullptr) == 0) {
        const auto take = [&] {
            while (avcodec_receive_frame(context, frame) == 0) {
                out.pictures.push_back(rgb_of(*frame));
                out.bt709 = frame->colorspace == AVCOL_SPC_BT709 &&
                            frame->color_primaries == AVCOL_PRI_BT709 &&
                            frame->color_range != AVCOL_RANGE_JPEG;
            }
        };
        while (av_read_frame(file, packet) >= 0) {
            avcodec_send_packet(context, packet);
            av_packet_unref(packet);
            take();
        }
        avcodec_send_packet(context, nullptr);
        take();
    }
    out.fps = av_q2d(stream.avg_frame_rate);
    av_frame_free(&frame);
    av_packet_free(&packet);
    avcodec_free_context(&context);
    avformat_close_input(&file);
    return out;
}

}  // namespace gs::test
