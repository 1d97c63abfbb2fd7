// GS_SETTINGS: the training settings, one row each: name, default, group, help, unit, whose default
// it is, range, and flags. A row makes the member of TrainingSettings, its flag, key in files,
// place in the Training panel, and line in the log of edits (trainer/settings/settings.h).
// Defaults: Kerbl et al. 2023, "3D Gaussian Splatting for Real-Time Radiance Field Rendering", with
// the authors' later opacity rate. `prune_screen_px`: the authors' code names 20 but clears the
// radii before it looks at them, so 0 is what was published.
//   TOGGLE(name, default, group, help, source, flags)                           bool
//   CHOICE(name, type, default, group, help, source, words)                     an enumeration
//   COUNT, NUMBER(name, default, group, help, unit, source, least, most, flags)   double
#pragma once

// clang-format off
#define GS_SETTINGS(TOGGLE, CHOICE, COUNT, NUMBER) \
    COUNT(steps, 30000, "Run", "total iterations", "steps", kAuthors, 1, 1e7, kLog | kLive) \
    COUNT(batch, 1, "Run", "photos per step: gradients are averaged; rates and moments are adapted", "photos", kGrendel, 1, 64, 0) \
    COUNT(seed, 42, "Run", "seed of the view order, split samples and random backgrounds", "", kOwn, 0, 9007199254740991.0, 0) \
    COUNT(coarse_until, 0, "Run", "train on smaller photos before this step: a quarter of their width and height for the first half of these steps, then half; at most half of the run; 0 = full size throughout", "steps", kDash, 0, 1e7, kLog | kLive) \
    TOGGLE(compact_moments, false, "Run", "the optimizer's moments in 2 bytes a parameter instead of 8, rounded at random: half the memory a Gaussian", kOwn, 0) \
    NUMBER(lr_means, 1.6e-4, "Learning rates", "positions, x scene extent, at the start", "x scene extent", kAuthors, 0, 1, kLog | kLive) \
    NUMBER(lr_means_final, 1.6e-6, "Learning rates", "positions, x scene extent, at the last step", "x scene extent", kAuthors, 0, 1, kLog | kLive) \
    NUMBER(lr_sh0, 2.5e-3, "Learning rates", "base colour", "", kAuthors, 0, 1, kLog | kLive) \
    NUMBER(lr_sh_rest, 1.25e-4, "Learning rates", "view-dependent colour", "", kAuthors, 0, 1, kLog | kLive) \
    NUMBER(lr_opacity, 2.5e-2, "Learning rates", "opacity logits", "", kLater, 0, 1, kLog | kLive) \
    NUMBER(lr_scales, 5e-3, "Learning rates", "log scales", "", kAuthors, 0, 1, kLog | kLive) \
    NUMBER(lr_quats, 1e-3, "Learning rates", "rotations", "", kAuthors, 0, 1, kLog | kLive) \
    NUMBER(lambda_dssim, 0.2, "Loss", "weight of 1 - SSIM; the rest is L1", "", kAuthors, 0, 1, kLive) \
    COUNT(sh_degree, 3, "Colour", "highest spherical-harmonics degree trained", "", kAuthors, 0, 3, 0) \
    COUNT(sh_interval, 1000, "Colour", "steps between degree increases", "steps", kAuthors, 1, 1e7, kLog | kLive) \
    COUNT(densify_from, 500, "Density control", "first step after which Gaussians may be added or removed", "steps", kAuthors, 0, 1e7, kLog | kLive) \
    COUNT(densify_until, 15000, "Density control", "last step before which Gaussians may be added or removed", "steps", kAuthors, 0, 1e7, kLog | kLive) \
    COUNT(densify_every, 100, "Density control", "steps between rounds of density control", "steps", kAuthors, 1, 1e6, kLog | kLive) \
    NUMBER(densify_gradient, 2e-4, "Density control", "mean gradient of the projected mean, NDC, above which a Gaussian is cloned or split", "NDC", kAuthors, 0, 1, kLog | kLive) \
    TOGGLE(absgrad, false, "Density control", "sum absolute gradients of pixels, so that opposite ones do not cancel", kAbs, 0) \
    NUMBER(densify_absgrad, 6.7e-4, "Density control", "used instead of densify_gradient with absgrad", "NDC", kAbs, 0, 1, kLog | kLive) \
    NUMBER(densify_extent, 0.01, "Density control", "x scene extent: smaller Gaussians are cloned, larger ones split", "x scene extent", kAuthors, 0, 10, kLog | kLive) \
    NUMBER(prune_opacity, 0.005, "Density control", "Gaussians below this opacity are removed", "", kAuthors, 0, 1, kLog | kLive) \
    NUMBER(prune_extent, 0.1, "Density control", "x scene extent: larger Gaussians are removed after the first opacity reset", "x scene extent", kAuthors, 0, 100, kLog | kLive) \
    NUMBER(prune_screen_px, 0, "Density control", "Gaussians of a larger radius in pixels are removed after the first opacity reset; 0 = off", "px", kPaper, 0, 1e5, kLog | kLive) \
    COUNT(opacity_reset_every, 3000, "Density control", "steps between opacity resets; 0 = never, the default with lidar_weight", "steps", kAuthors, 0, 1e7, kLog | kLive) \
    COUNT(max_gaussians, 5e6, "Density control", "most Gaussians at the start and after growth", "Gaussians", kOwn, 1, 2e9, kLog | kLive) \
    NUMBER(overgrow, 1, "Density control", "budget: grow to this many times max_gaussians, then, when growth ends, remove the Gaussians that the training photos see least; 1 = off", "x max_gaussians", kOwn, 1, 4, kLive) \
    CHOICE(strategy, StrategyKind, adc, "Density control", "how Gaussians are added and removed", kOwn, kStrategies) \
    TOGGLE(revised_opacity, false, "Density control", "cloned and split Gaussians get the opacity that keeps the picture's brightness", kRevised, kLive) \
    TOGGLE(long_axis, false, "Density control", "Gaussians that grow are split in two along their longest axis, smaller and fainter, and none is cloned", kLichtFeld, kLive) \
    NUMBER(relocate_spread, 0, "Density control", "mcmc: spread of moved and added Gaussians around the shared position, in standard deviations; 0 = none, as published", "", kOwn, 0, 10, kLive) \
    TOGGLE(relocate_by_pull, false, "Density control", "mcmc: draw positions by opacity times gradient, not by opacity only (as published)", kOwn, kLive) \
    NUMBER(init_opacity, 0.1, "Start", "opacity of the first Gaussians", "", kAuthors, 0.001, 0.999, 0) \
    NUMBER(init_scale, 1, "Start", "size of the first Gaussians, x distance to their neighbours", "", kAuthors, 0.001, 100, kLog) \
    TOGGLE(init_surfaces, false, "Start", "the points are on surfaces (from a lidar, for example): the first Gaussians are surface-aligned and opaque, so ranges are right from the start; test photos get worse", kOwn, 0) \
    NUMBER(noise, 0, "Exploration", "noise that moves faint Gaussians in each step, x their size squared and lr_means; 0 = off", "x lr_means", kMcmc, 0, 1e9, kLog | kLive) \
    COUNT(noise_until, 30000, "Exploration", "last step with this noise", "steps", kOwn, 0, 1e7, kLog | kLive) \
    NUMBER(opacity_reg, 0, "Exploration", "weight of the mean opacity in the loss", "", kMcmc, 0, 10, kLog | kLive) \
    NUMBER(scale_reg, 0, "Exploration", "weight of the mean scale, in scene extents, in the loss", "", kMcmc, 0, 10, kLog | kLive) \
    NUMBER(scale_limit, 0, "Exploration", "x scene extent: larger Gaussians shrink; 0 = off", "x scene extent", kOwn, 0, 100, kLog | kLive) \
    NUMBER(stretch_limit, 0, "Exploration", "shrink the longest axis of Gaussians if it is this many times the middle one; 0 = off", "", kOwn, 0, 1e4, kLog | kLive) \
    TOGGLE(crop, false, "Crop", "Gaussians outside the box are removed, at the start and in every round of density control", kOwn, kLive) \
    NUMBER(crop_x0, 0, "Crop", "the box's lower corner", "world units", kOwn, -1e9, 1e9, kLive) \
    NUMBER(crop_y0, 0, "Crop", "the box's lower corner", "world units", kOwn, -1e9, 1e9, kLive) \
    NUMBER(crop_z0, 0, "Crop", "the box's lower corner", "world units", kOwn, -1e9, 1e9, kLive) \
    NUMBER(crop_x1, 0, "Crop", "the box's upper corner", "world units", kOwn, -1e9, 1e9, kLive) \
    NUMBER(crop_y1, 0, "Crop", "the box's upper corner", "world units", kOwn, -1e9, 1e9, kLive) \
    NUMBER(crop_z1, 0, "Crop", "the box's upper corner", "world units", kOwn, -1e9, 1e9, kLive) \
    TOGGLE(refine_poses, false, "Poses", "also correct the camera poses of the training photos", kOwn, 0) \
    TOGGLE(refine_intrinsics, false, "Poses", "also correct the focal length and distortion of each camera of the training photos", kOwn, 0) \
    NUMBER(intrinsics_sigma, 2, "Poses", "expected error of focal lengths and of each distortion coefficient (standard deviation): percent of the distance of the picture's corner from its middle", "%", kOwn, 0.001, 50, kLog | kLive) \
    NUMBER(pose_sigma, 0.5, "Poses", "expected pose error (standard deviation): degrees, and percent of the scene's extent; unseen degrees of freedom keep the input pose", "deg, %", kOwn, 0.001, 20, kLog | kLive) \
    COUNT(pose_from, 100, "Poses", "first step after which poses and intrinsics are corrected", "steps", kOwn, 0, 1e7, kLog | kLive) \
    NUMBER(pose_smoothness, 0, "Poses", "after each pass over the photos, move each correction this far to the mean of its neighbours' (photos in name order): for photos along a path whose errors change slowly", "", kOwn, 0, 1, kLive) \
    NUMBER(lidar_weight, 0, "Lidar", "weight of the loss on a drive's lidar ranges (m), added to the photo's; 0 = photos only; above 0, opacity_reset_every is 0 by default", "", kSplatAd, 0, 100, kLog | kLive) \
    COUNT(lidar_beams, 4096, "Lidar", "approximate number of lidar rays per step, from one sweep", "beams", kOwn, 64, 1e7, kLog | kLive) \
    COUNT(lidar_every, 1, "Lidar", "steps from one that takes lidar rays to the next; its rays weigh as much more", "steps", kOwn, 1, 1000, kLog | kLive) \
    TOGGLE(random_background, false, "Background", "a new random background colour every step", kAuthors, kLive) \
    NUMBER(background_r, 0, "Background", "red, 0..1", "", kAuthors, 0, 1, kLive) \
    NUMBER(background_g, 0, "Background", "green, 0..1", "", kAuthors, 0, 1, kLive) \
    NUMBER(background_b, 0, "Background", "blue, 0..1", "", kAuthors, 0, 1, kLive) \
    CHOICE(sky, SkyKind, none, "Background", "what is learned of the sky: a colour for each direction, behind all Gaussians, in place of the background", kOwn, kSkies) \
    NUMBER(lr_sky, 2.5e-3, "Background", "learning rate of the sky's coefficients", "", kOwn, 0, 1, kLog | kLive) \
    TOGGLE(antialiased, false, "Rendering", "train with opacity compensation for the pixel blur", kMip, 0) \
    TOGGLE(filter_3d, false, "Rendering", "3D filter: no Gaussian thinner than a pixel of the nearest photo, with antialiasing: pictures of other sizes keep brightness and sharpness", kMip, 0) \
    CHOICE(projection, ProjectionMethod, ewa, "Rendering", "how Gaussians become ellipses", kUt, kProjections) \
    CHOICE(appearance, AppearanceMode, none, "Appearance", "what is learned of each photo's look", kOwn, kAppearances) \
    NUMBER(lr_appearance, 2e-3, "Appearance", "peak learning rate of PPISP's vignetting and tone-curve parameters", "", kPpisp, 0, 1, kLog | kLive) \
    COUNT(appearance_from, 7500, "Appearance", "first step after which exposure and white balance are learned", "steps", kOwn, 0, 1e7, kLog | kLive)
// clang-format on
