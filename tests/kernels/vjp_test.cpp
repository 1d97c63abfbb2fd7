// Every f_vjp of renderer/math against its f run on dual numbers: for a random upstream v, the
// gradient's component along each input must equal d (v . f) / d input, which the dual number
// carries exactly.
#include <gtest/gtest.h>

#include <functional>

#include "renderer/math/project.h"
#include "renderer/math/sh.h"
#include "tests/support/compare.h"
#include "tests/support/dual.h"
#include "tests/support/random_scene.h"

namespace gs::test {
namespace {

using Numbers = std::vector<double>;
using Duals = std::vector<Dual>;

/// d (v . f(x)) / dx, one input after the other.
Numbers slopes(const Numbers& x, const Numbers& v, const std::function<Duals(const Duals&)>& f) {
    Numbers out;
    for (std::size_t i = 0; i < x.size(); ++i) {
        Duals in(x.begin(), x.end());
        in[i].slope = 1;
        const Duals result = f(in);
        CHECK(result.size() == v.size(), "{} outputs, {} upstream values", result.size(), v.size());
        double sum = 0;
        for (std::size_t k = 0; k < v.size(); ++k) sum += v[k] * result[k].slope;
        out.push_back(sum);
    }
    return out;
}

void expect_equal(const Numbers& actual, const Numbers& expected, const std::string& what) {
    EXPECT_LE(relative_l2(actual, expected), 1e-11) << what;
}

/// Random numbers, another stream for every call.
class Random {
  public:
    explicit Random(std::uint64_t seed) : seed_(seed) {}
    double in(double lo, double hi) { return random_in(seed_, 0, counter_++, lo, hi); }
    Numbers vector(std::size_t n, double lo = -1, double hi = 1) {
        Numbers out;
        for (std::size_t i = 0; i < n; ++i) out.push_back(in(lo, hi));
        return out;
    }

  private:
    std::uint64_t seed_, counter_ = 0;
};

template <class T>
Vec3<T> vec3(const std::vector<T>& x, std::size_t at = 0) {
    return {x[at], x[at + 1], x[at + 2]};
}
template <class T>
Quat<T> quat(const std::vector<T>& x, std::size_t at = 0) {
    return {x[at], x[at + 1], x[at + 2], x[at + 3]};
}

TEST(Vjp, Normalize) {
    Random random(1);
    for (int i = 0; i < 50; ++i) {
        const double length = std::pow(10, random.in(-6, 6));
        Numbers x = random.vector(3);
        for (double& k : x) k *= length;
        const Numbers v = random.vector(3);
        const Vec3d g = math::normalize_vjp(vec3(x), vec3(v));
        expect_equal({g.x, g.y, g.z},
                     slopes(x, v,
                            [](const Duals& d) {
                                const auto n = math::normalize(vec3(d));
                                return Duals{n.x, n.y, n.z};
                            }),
                     "normalize");
    }
}

TEST(Vjp, ShBasis) {
    Random random(2);
    for (int degree = 0; degree <= 3; ++degree)
        for (int i = 0; i < 30; ++i) {
            Numbers x = random.vector(3);
            if (i == 0) x = {0, 0, 1};
            if (i == 1) x = {0, -1, 0};
            if (i == 2) x = {1, 0, 0};
            const auto bases = static_cast<std::size_t>(sh_bases(degree));
            const Numbers v = random.vector(bases);
            const Vec3d g = math::sh_basis_vjp(degree, vec3(x), v.data());
            expect_equal({g.x, g.y, g.z},
                         slopes(x, v,
                                [&](const Duals& d) {
                                    Duals basis(bases);
                                    math::sh_basis(degree, vec3(d), basis.data());
                                    return basis;
                                }),
                         fmt::format("sh degree {}", degree));
        }
}

TEST(Vjp, QuatToRotation) {
    Random random(3);
    for (int i = 0; i < 60; ++i) {
        Numbers x = random.vector(4);
        const double length = std::pow(10, random.in(-5, 5));
        for (double& k : x) k *= length;
        if (i == 0) x = {1, 0, 0, 0};
        if (i == 1) x = {0, 0, -3, 0};
        const Numbers v = random.vector(9);
        Mat3d v_matrix;
        for (std::size_t k = 0; k < 9; ++k) v_matrix.m[k / 3][k % 3] = v[k];
        const Quatd g = math::quat_to_rotation_vjp(quat(x), v_matrix);
        expect_equal({g.w, g.x, g.y, g.z},
                     slopes(x, v,
                            [](const Duals& d) {
                                const Mat3<Dual> r = math::quat_to_rotation(quat(d));
                                Duals out;
                                for (const auto& row : r.m)
                                    out.insert(out.end(), {row[0], row[1], row[2]});
                                return out;
                            }),
                     "quat_to_rotation");
    }
}

// The camera as constants of any scalar type, all from the same floats. (make_pinhole<double> would
// do, but g++ 12 elides some of its roundings to float when it vectorises them.)
template <class T>
math::Pinhole<T> pinhole(const Camera& c) {
    const auto f = math::make_pinhole<float>(c.rotation, c.translation, c.fx, c.fy, c.cx, c.cy,
                                             c.width, c.height);
    math::Pinhole<T> out;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) out.rotation.m[i][j] = T(f.rotation.m[i][j]);
    out.translation = {T(f.translation.x), T(f.translation.y), T(f.translation.z)};
    out.fx = T(f.fx);
    out.fy = T(f.fy);
    out.cx = T(f.cx);
    out.cy = T(f.cy);
    out.x_lo = T(f.x_lo);
    out.x_hi = T(f.x_hi);
    out.y_lo = T(f.y_lo);
    out.y_hi = T(f.y_hi);
    out.w_from_z = T(f.w_from_z);
    out.w_constant = T(f.w_constant);
    return out;
}

struct ProjectCase {
    Camera camera;
    Numbers mean, scale, quaternion;
    std::string name;
};

void check_project(const ProjectCase& c, Random& random) {
    Numbers x = c.mean;
    x.insert(x.end(), c.scale.begin(), c.scale.end());
    x.insert(x.end(), c.quaternion.begin(), c.quaternion.end());
    const Numbers v = random.vector(6);  // mean 2d, cov (xx, xy, yy), depth
    const auto g =
        math::project_vjp(pinhole<double>(c.camera), vec3(x, 0), vec3(x, 3), quat(x, 6),
                          Vec2<double>{v[0], v[1]}, Sym2<double>{v[2], v[3], v[4]}, v[5]);
    const Numbers expected = slopes(x, v, [&](const Duals& d) {
        const auto p = math::project(pinhole<Dual>(c.camera), vec3(d, 0), vec3(d, 3), quat(d, 6));
        return Duals{p.mean.x, p.mean.y, p.cov.xx, p.cov.xy, p.cov.yy, p.camera.z};
    });
    const auto part = [&](std::size_t first, std::size_t count) {
        return Numbers(expected.begin() + static_cast<std::ptrdiff_t>(first),
                       expected.begin() + static_cast<std::ptrdiff_t>(first + count));
    };
    expect_equal({g.mean.x, g.mean.y, g.mean.z}, part(0, 3), c.name + ": mean");
    expect_equal({g.scale.x, g.scale.y, g.scale.z}, part(3, 3), c.name + ": scale");
    expect_equal({g.quat.w, g.quat.x, g.quat.y, g.quat.z}, part(6, 4), c.name + ": quat");
}

TEST(Vjp, Project) {
    Random random(4);
    for (std::uint64_t i = 0; i < 60; ++i) {
        const Camera camera = random_camera(9, i, 320, 200);
        check_project(
            {camera, random.vector(3), random.vector(3, 0.01, 0.5), random.vector(4), "random"},
            random);
        // Far off to the side: x/z or y/z beyond the limit of the Jacobian.
        const Vec3d eye = camera.position(), ahead = camera.forward();
        const Vec3d right{camera.rotation.m[0][0], camera.rotation.m[0][1],
                          camera.rotation.m[0][2]};
        const Vec3d down{camera.rotation.m[1][0], camera.rotation.m[1][1], camera.rotation.m[1][2]};
        const double side = i % 2 == 0 ? 4.0 : -4.0;
        const Vec3d aside = eye + ahead + side * right + (i % 3 == 0 ? 0.1 : 3.0) * down;
        check_project({camera,
                       {aside.x, aside.y, aside.z},
                       random.vector(3, 0.01, 0.5),
                       random.vector(4),
                       "clamped"},
                      random);
        // Close to the near plane.
        const Vec3d close = eye + 0.011 * ahead;
        check_project({camera,
                       {close.x, close.y, close.z},
                       random.vector(3, 0.001, 0.5),
                       random.vector(4),
                       "near"},
                      random);
        // Needle and pancake, and quaternions far from unit length.
        Numbers long_quat = random.vector(4);
        for (double& k : long_quat) k *= i % 2 == 0 ? 1e4 : 1e-4;
        check_project({camera, random.vector(3), {1e-7, 1e-7, 2.0}, long_quat, "needle"}, random);
        check_project({camera, random.vector(3), {1.0, 1.0, 1e-8}, long_quat, "pancake"}, random);
    }
}

void check_conic(const Numbers& cov, double blur, Random& random, const char* what) {
    const Numbers v = random.vector(4);
    const auto g =
        math::conic_of_vjp(Sym2<double>{cov[0], cov[1], cov[2]}, cov[0] * cov[2] - cov[1] * cov[1],
                           blur, Sym2<double>{v[0], v[1], v[2]}, v[3]);
    const Numbers expected = slopes(cov, v, [&](const Duals& d) {
        const auto k = math::conic_of(Sym2<Dual>{d[0], d[1], d[2]}, Dual(blur));
        return Duals{k.inverse.xx, k.inverse.xy, k.inverse.yy, k.compensation};
    });
    EXPECT_LE(relative_l2(Numbers{g.xx, g.xy, g.yy}, expected), 1e-9) << what;
}

TEST(Vjp, Conic) {
    Random random(5);
    for (int i = 0; i < 100; ++i) {
        // Covariances as they come: U U^T of two vectors, from subpixel to the size of a picture.
        const double size = std::pow(10, random.in(-3, 3));
        const Numbers u = random.vector(4);
        const Numbers cov{size * (u[0] * u[0] + u[1] * u[1]), size * (u[0] * u[2] + u[1] * u[3]),
                          size * (u[2] * u[2] + u[3] * u[3])};
        check_conic(cov, 0.3, random, "random");
        check_conic(cov, 0.1, random, "other blur");
        // One vector only: determinant (nearly) zero, compensation at its floor.
        check_conic({size * u[0] * u[0], size * u[0] * u[2], size * u[2] * u[2]}, 0.3, random,
                    "line");
        check_conic({1e-9, 0, 1e-9}, 0.3, random, "point");
    }
}

// Random f_vjp products of the float version stay close to the double ones: nothing cancels badly.
TEST(Vjp, FloatStaysCloseToDouble) {
    Random random(6);
    for (std::uint64_t i = 0; i < 200; ++i) {
        const Camera camera = random_camera(10, i % 7, 320, 200);
        const Numbers m = random.vector(3), s = random.vector(3, 0.05, 0.5), q = random.vector(4),
                      v = random.vector(6);
        const auto as_float = [](double x) { return static_cast<float>(x); };
        const auto d =
            math::project_vjp(pinhole<double>(camera), vec3(m), vec3(s), quat(q),
                              Vec2<double>{v[0], v[1]}, Sym2<double>{v[2], v[3], v[4]}, v[5]);
        const auto f = math::project_vjp(
            pinhole<float>(camera), Vec3f{as_float(m[0]), as_float(m[1]), as_float(m[2])},
            Vec3f{as_float(s[0]), as_float(s[1]), as_float(s[2])},
            Quatf{as_float(q[0]), as_float(q[1]), as_float(q[2]), as_float(q[3])},
            Vec2f{as_float(v[0]), as_float(v[1])},
            Sym2<float>{as_float(v[2]), as_float(v[3]), as_float(v[4])}, as_float(v[5]));
        const Numbers wide{d.mean.x,  d.mean.y, d.mean.z, d.scale.x, d.scale.y,
                           d.scale.z, d.quat.w, d.quat.x, d.quat.y,  d.quat.z};
        const Numbers narrow{f.mean.x,  f.mean.y, f.mean.z, f.scale.x, f.scale.y,
                             f.scale.z, f.quat.w, f.quat.x, f.quat.y,  f.quat.z};
        EXPECT_LE(relative_l2(narrow, wide), 2e-5);
    }
}

}  // namespace
}  // namespace gs::test
