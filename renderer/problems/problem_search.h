// ProblemSearch: where a model is wrong by its photos, looked for one photo a call, so that it can
// be done between steps of training and be cancelled: first every photo (errors by block, what each
// Gaussian takes part in), then the photos of the worst regions again, for their crops. Called by
// the studio (app/session/parts/photo_problems.h) and `gausscope eval --worst`.
#pragma once

#include <memory>
#include <vector>

#include "renderer/problems/gaussian_blame.h"
#include "renderer/problems/photo_blocks.h"
#include "renderer/problems/photo_drawer.h"

namespace gs {

/// How long the lists may be.
struct ProblemLists {
    std::size_t regions = 60, holes = 30, gaussians = 200, floaters = 60;
    bool crops = true;
};

class ProblemSearch {
  public:
    /// `rasterizer` outlives it. `views`: of the capture; those without a photo are left out.
    /// `options`: as pictures of the model are drawn; the background distinguishes holes.
    ProblemSearch(std::shared_ptr<const GaussianModel> model,
                  std::shared_ptr<const Capture> capture, std::vector<std::size_t> views,
                  Rasterizer& rasterizer, const RenderOptions& options, ProblemLists lists = {});
    /// One photo. False: all is found.
    bool next();
    /// Photos that were looked at, of how many; more than that: crops are made.
    std::size_t done() const { return next_; }
    std::size_t total() const { return views_.size() + again_.size(); }
    /// "looking at photo 3 of 48".
    std::string doing() const;
    /// Complete once next() has given false.
    const FoundProblems& found() const { return found_; }
    const Capture& capture() const { return *capture_; }

  private:
    void look(std::size_t view);
    void conclude();
    void draw_crops(std::size_t view);

    std::shared_ptr<const GaussianModel> model_;
    std::shared_ptr<const Capture> capture_;
    std::vector<std::size_t> views_, again_;  // again_: for crops
    std::size_t next_ = 0;
    PhotoDrawer drawer_;
    GaussianBlame blame_;
    std::vector<PhotoBlocks> blocks_;
    ProblemLists lists_;
    FoundProblems found_;
};

}  // namespace gs
