// CUDA's vector types for the host compiler, with CUDA's sizes and alignments.
#pragma once

struct float2 {
    float x, y;
} __attribute__((aligned(8)));
struct float3 {
    float x, y, z;
};
struct float4 {
    float x, y, z, w;
} __attribute__((aligned(16)));
struct double2 {
    double x, y;
} __attribute__((aligned(16)));
struct int2 {
    int x, y;
} __attribute__((aligned(8)));
struct int3 {
    int x, y, z;
};
struct int4 {
    int x, y, z, w;
} __attribute__((aligned(16)));
struct uint2 {
    unsigned x, y;
} __attribute__((aligned(8)));
struct uint3 {
    unsigned x, y, z;
};
struct uint4 {
    unsigned x, y, z, w;
} __attribute__((aligned(16)));
struct ushort2 {
    unsigned short x, y;
} __attribute__((aligned(4)));
struct ushort4 {
    unsigned short x, y, z, w;
} __attribute__((aligned(8)));
struct uchar2 {
    unsigned char x, y;
} __attribute__((aligned(2)));
struct uchar3 {
    unsigned char x, y, z;
};
struct uchar4 {
    unsigned char x, y, z, w;
} __attribute__((aligned(4)));
struct ulonglong2 {
    unsigned long long x, y;
} __attribute__((aligned(16)));
struct dim3 {
    unsigned x = 1, y = 1, z = 1;
    constexpr dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1) : x(vx), y(vy), z(vz) {}
    constexpr operator uint3() const { return {x, y, z}; }
};

constexpr float2 make_float2(float x, float y) { return {x, y}; }
constexpr float3 make_float3(float x, float y, float z) { return {x, y, z}; }
constexpr float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
constexpr double2 make_double2(double x, double y) { return {x, y}; }
constexpr int2 make_int2(int x, int y) { return {x, y}; }
constexpr int3 make_int3(int x, int y, int z) { return {x, y, z}; }
constexpr int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
constexpr uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
constexpr uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
constexpr uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
constexpr ushort2 make_ushort2(unsigned short x, unsigned short y) { return {x, y}; }
constexpr ushort4 make_ushort4(unsigned short x, unsigned short y, unsigned short z,
                               unsigned short w) {
    return {x, y, z, w};
}
constexpr uchar2 make_uchar2(unsigned char x, unsigned char y) { return {x, y}; }
constexpr uchar3 make_uchar3(unsigned char x, unsigned char y, unsigned char z) {
    return {x, y, z};
}
constexpr uchar4 make_uchar4(unsigned char x, unsigned char y, unsigned char z, unsigned char w) {
    return {x, y, z, w};
}
constexpr ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y) { return {x, y}; }
