// What can be drawn over the viewport's picture, one .cpp file each; overlays.cpp calls them.
// `picture`: where on the screen `frame` is shown.
#pragma once

#include <imgui.h>

#include <array>
#include <string>
#include <vector>

#include "panels/state/film_state.h"
#include "panels/state/measure_state.h"
#include "panels/state/notes_state.h"
#include "panels/state/snapshot.h"
#include "panels/viewport/chips.h"
#include "panels/viewport/frusta.h"
#include "renderer/inspect/pixel_report.h"

namespace gs {

/// The differences of a verified frame. Nothing without a report, or from another camera.
void draw_verified(ImDrawList& list, const Snapshot& snapshot, const ViewFrame& frame,
                   PictureRect picture);
/// The region with measured costs (cost.region).
void draw_cost_region(ImDrawList& list, const Snapshot& snapshot, const ViewFrame& frame,
                      PictureRect picture);
/// Tiles coloured by their predicted blending time on another GPU (predict.map), over the counted
/// picture. Nothing unless it is of the same view.
void draw_predicted_tiles(ImDrawList& list, const Snapshot& snapshot, const ViewFrame& frame,
                          PictureRect picture);
/// The camera path: a line, with keys as small pyramids, a part of the scene's `extent` (world
/// units) large.
void draw_film_path(ImDrawList& list, const FilmState& film, const ViewFrame& frame, double extent,
                    PictureRect picture);

/// The rolling shutter of the current photo (view.shutter.arrows): arrows in the colours of their
/// rows' times, and the times.
void draw_shutter(ImDrawList& list, const Snapshot& snapshot, const ViewFrame& frame,
                  PictureRect picture);
/// Its values in words; empty: nothing to draw.
std::string words_of_shutter(const Snapshot& snapshot, const ViewFrame& frame);

/// Most dots of a sweep to draw; of more, every Nth.
inline constexpr std::size_t kMostSweepDots = 40'000;
/// The current lidar sweep (view.sweep): its returns as dots at their measured places, the sensor's
/// path, and the axes of sensor and camera at that time. `photo_instead`: only the dots, since they
/// match the photo.
void draw_sweep_overlay(ImDrawList& list, const Snapshot& snapshot, const ViewFrame& frame,
                        PictureRect picture, bool photo_instead);
/// "sweep 000012 at 1.20 s: range 1 .. 80 m"; empty: none is drawn.
std::string words_of_sweep(const Snapshot& snapshot);

/// The marked Gaussian as three ellipses at two standard deviations: lines on `camera`'s picture;
/// empty behind the camera.
std::vector<std::array<Pixel, 2>> outline_of(const MarkedGaussian& marked, const Camera& camera);
/// "#17, opacity 0.83, sizes 0.1 x 0.02 x 0.02".
std::string words_of(const MarkedGaussian& marked);

/// The edge of a Gaussian on the picture, where its alpha is 1/255, as corners of a closed line in
/// pixels of the picture it was inspected in; empty where it is nowhere that opaque.
std::vector<Pixel> edge_of(const PixelEntry& entry);
/// The inspected pixel, its tile, and the ellipse of one Gaussian of its list, from `corner`,
/// `size` large, while the picture is of the same view.
void draw_inspected_pixel(ImDrawList& list, const Snapshot& snapshot, const ViewFrame& frame,
                          ImVec2 corner, ImVec2 size);

/// A measured distance as a line in the pixels of a picture.
struct MeasureLine {
    std::size_t number = 1;     ///< of the distance, from 1
    std::array<Pixel, 2> ends;  ///< of the part before the camera
    std::string words;          ///< its length
};
/// Those that are before the camera, or partly.
std::vector<MeasureLine> lines_of(const MeasureState& measured, const Camera& camera);

/// A note as a pin: a point with its number.
struct NotePin {
    std::size_t number = 0;  ///< from 1
    ImVec2 at{};             ///< on the screen
};
/// Pins of the notes on points and Gaussians in front of `camera` and inside its picture.
std::vector<NotePin> note_pins(const NotesState& notes, const Camera& camera, PictureRect picture);
/// With their texts; those that would cover another pin's are left out, numbers never.
void draw_note_pins(ImDrawList& list, const NotesState& notes, const Camera& camera,
                    PictureRect picture);

}  // namespace gs
