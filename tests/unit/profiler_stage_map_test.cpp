// Kernel names as profilers show them, plain, demangled and mangled, against the stages a person
// would give them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "profiler/store/kernel_kinds.h"
#include "profiler/store/stage_map.h"

namespace gs::test {
namespace {

struct Known {
    const char* kernel;
    Stage stage;
};
// What other people's profiles of language and vision models show.
const std::pair<const char*, const char*> kKinds[] = {
    {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "communication"},
    {"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", "communication"},
    {"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*, ...)",
     "communication"},
    {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<...FusedAdamMathFunctor>",
     "optimizer"},
    {"void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, ...cutlass::half_t>>(...)",
     "attention"},
    {"void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<...>(...)", "attention"},
    {"fmha_cutlassF_f16_aligned_64x64_rf_sm80(...)", "attention"},
    {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128", "attention"},
    {"void vllm::paged_attention_v2_kernel<unsigned short, 128, 16>(...)", "attention"},
    {"flashinfer::BatchPrefillWithPagedKVCacheKernel<...>", "attention"},
    {"void cudnn::cnn::implicit_convolve_sgemm<float, float, 1024, 5, 5, 3>(...)", "convolution"},
    {"sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16",
     "convolution"},
    {"void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true>(...)", "convolution"},
    {"cutlass__5x_cudnn::Kernel<cutlass_tensorop_s1688wgrad_optimized_tf32_128x128_nhwc>",
     "convolution"},
    {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(...)",
     "normalisation"},
    {"void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernel<float, float>(...)",
     "normalisation"},
    {"void cudnn::bn_fw_tr_1C11_singleread<float, 512, true, 1, 2, 20>(...)", "normalisation"},
    {"void vllm::rms_norm_kernel<c10::BFloat16>(...)", "normalisation"},
    {"void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2, 64, 64>",
     "copies"},
    {"void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(...)>",
     "copies"},
    {"ampere_sgemm_128x64_tn", "matmul"},
    {"loop_add_multiply_fusion_3", "elementwise"},
    {"input_reduce_fusion_12", "reduction"},
    {"input_scatter_fusion", "indexing and sorting"},
    {"gemm_fusion_dot_general_7_0", "matmul"},
    {"fusion_12", "elementwise"},
    {"diffusion_kernel", "other"},
    {"confusion_matrix", "other"},
    {"void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align8>",
     "matmul"},
    {"nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NTT", "matmul"},
    {"void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false>(...)",
     "matmul"},
    {"void cublasLt::splitKreduce_kernel<32, 16, int, float, float, float>(...)", "matmul"},
    {"triton_tem_fused_mm_3", "matmul"},
    {"void (anonymous namespace)::softmax_warp_forward<float, float, float, 7, true, false>(...)",
     "softmax and loss"},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(...)",
     "elementwise"},
    {"triton_poi_fused_add_relu_0", "elementwise"},
    {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, ...>>(...)", "reduction"},
    {"void at::native::(anonymous namespace)::indexSelectLargeIndex<float, long>(...)",
     "indexing and sorting"},
    {"my_own_kernel(float*)", "other"},
};
// Signatures as cu++filt prints them for the public sources.
const Known kKnown[] = {
    {"void renderCUDA<3u>(uint2 const*, unsigned int const*, int, int, float2 const*, float "
     "const*, float4 const*, float*, unsigned int*, float const*, float*)",
     Stage::blend},
    {"void renderCUDA<3u>(uint2 const*, unsigned int const*, int, int, float const*, float2 "
     "const*, float4 const*, float const*, float const*, unsigned int const*, float const*, "
     "float3*, float4*, float*, float*)",
     Stage::blend_backward},
    {"_Z10renderCUDAILj3EEvPK5uint2PKjiiPKfPK6float2PK6float4S5_S5_S3_S5_P6float3PS9_PfSE_",
     Stage::blend_backward},
    {"void preprocessCUDA<3>(int, int, int, float const*, glm::vec<3, float, (glm::qualifier)0> "
     "const*, float, ...)",
     Stage::project},
    {"void preprocessCUDA<3>(int, int, int, float3 const*, int const*, float const*, bool const*, "
     "...)",
     Stage::project_backward},
    {"duplicateWithKeys(int, float2 const*, float const*, unsigned int const*, unsigned long*, "
     "unsigned int*, int*, dim3)",
     Stage::emit},
    {"identifyTileRanges(int, unsigned long*, uint2*)", Stage::ranges},
    {"computeCov2DCUDA(int, float3 const*, int const*, float const*, float, float, float, float, "
     "float const*, ...)",
     Stage::project_backward},
    {"fusedssimCUDA(int, int, int, float, float, float*, float*, float*, float*, float*, float*)",
     Stage::loss},
    {"void gsplat::rasterize_to_pixels_3dgs_fwd_kernel<3u, float>(unsigned int, ...)",
     Stage::blend},
    {"void gsplat::rasterize_to_pixels_3dgs_bwd_kernel<3u, float>(unsigned int, ...)",
     Stage::blend_backward},
    {"void gsplat::projection_ewa_3dgs_fused_fwd_kernel<float>(unsigned int, ...)", Stage::project},
    {"void gsplat::projection_ewa_3dgs_fused_bwd_kernel<float>(unsigned int, ...)",
     Stage::project_backward},
    {"void gsplat::spherical_harmonics_bwd_kernel<float>(unsigned int, ...)",
     Stage::project_backward},
    {"void gsplat::spherical_harmonics_fwd_kernel<float>(unsigned int, ...)", Stage::project},
    {"void gsplat::intersect_tile_kernel<float>(bool, unsigned int, ...)", Stage::emit},
    {"gsplat::intersect_offset_kernel(unsigned int, long const*, ...)", Stage::ranges},
    {"fast_gs::rasterization::kernels::forward::preprocess_cu(float3 const*, ...)", Stage::project},
    {"fast_gs::rasterization::kernels::backward::blend_backward_cu(...)", Stage::blend_backward},
    {"fast_gs::rasterization::kernels::forward::blend_cu(uint2 const*, ...)", Stage::blend},
    {"void cub::CUB_200500_900_NS::DeviceRadixSortOnesweepKernel<cub::...>(unsigned int*, ...)",
     Stage::sort},
    {"void cub::DeviceScanKernel<cub::DeviceScanPolicy<int>::Policy600, int const*, int*, "
     "...>(...)",
     Stage::sort},
    {"void raster_backward_kernel<16, 16, true, false>(at::GenericPackedTensorAccessor<int, 2ul, "
     "...>, ...)",
     Stage::blend_backward},
    {"frustum_culling_aabb_kernel(at::GenericPackedTensorAccessor<float, 3ul, ...>, ...)",
     Stage::cull},
    {"void at::native::(anonymous "
     "namespace)::multi_tensor_apply_kernel<at::native::...FusedAdamMathFunctor<float, 4>>",
     Stage::adam},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int, ...)",
     Stage::other},
    {"", Stage::other},
};

constexpr std::pair<const char*, const char*> kRangeKinds[] = {
    {"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "data"},
    {"load", "data"},
    {"Forward", "forward"},
    {"DistributedDataParallel.forward", "forward"},
    {"CheckpointFunction", "forward"},
    {"CheckpointFunctionBackward", "backward"},
    {"autograd::engine::evaluate_function: AddmmBackward0", "backward"},
    {"loss.backward()", "backward"},
    {"Optimizer.zero_grad#Adam.zero_grad", "optimizer"},
    {"Optimizer.step#SGD.step", "optimizer"},
    {"gloo:all_reduce", "communication"},
    {"MPI_Allreduce", "communication"},
    {"ncclAllReduce", "communication"},
    {"reduce-scatter.3", "communication"},
    {"Work.wait", "communication"},
    {"save_checkpoint", "checkpoint"},
    {"SaveModel", "checkpoint"},
    {"val", "evaluation"},
    {"validation", "evaluation"},
    {"eval_step", "evaluation"},
    {"set_eval_frame", ""},
    {"eval_jaxpr", ""},
    {"validate_args", ""},
    {"saved_tensors_hooks", ""},
    {"decoder.0", ""},
    {"workload", ""},
    {"metadata", ""},
    {"$dataclasses.py:1 f", ""},
    {"retrieval", ""},
    {"test_all_reduce", "communication"},
    {"ResNet", ""},
    {"", ""},
};

TEST(KernelKinds, Table) {
    for (const auto& [kernel, kind] : kKinds) EXPECT_EQ(kernel_kind(kernel), kind) << kernel;
    for (const auto& [range, kind] : kRangeKinds) EXPECT_EQ(range_kind(range), kind) << range;
    EXPECT_TRUE(is_splatting(Stage::blend) && is_splatting(Stage::project_backward));
    EXPECT_FALSE(is_splatting(Stage::sort) || is_splatting(Stage::adam));
}

TEST(StageMap, KnowsTheFieldsKernels) {
    const StageMap map;
    for (const Known& known : kKnown)
        EXPECT_STREQ(name_of(map.stage_of(known.kernel)), name_of(known.stage)) << known.kernel;
}

TEST(StageMap, EveryBuiltInRuleCanWin) {
    const StageMap map;
    for (const StageRule& rule : map.rules()) {
        std::string name = rule.pattern;  // the shortest name it stands for
        std::replace(name.begin(), name.end(), '*', '_');
        const StageRule* winner = map.rule_of(name);
        ASSERT_NE(winner, nullptr) << rule.pattern;
        EXPECT_EQ(winner->pattern, rule.pattern) << "is hidden by an earlier rule";
    }
}

class StageMapFile : public ::testing::Test {
  protected:
    fs::path write(const std::string& text) {
        const fs::path path =
            fs::temp_directory_path() / fmt::format("gausscope-stage-map-{}.txt", ::getpid());
        EXPECT_TRUE(write_text_file(path, text));
        return path;
    }
    void TearDown() override {
        fs::remove(fs::temp_directory_path() /
                   fmt::format("gausscope-stage-map-{}.txt", ::getpid()));
    }
};

TEST_F(StageMapFile, UserRulesComeFirst) {
    StageMap map;
    const auto added =
        map.add_file(write("# ours\n\nmy_splat*fwd = blend   # the new one\r\nrenderCUDA=loss\n"));
    ASSERT_TRUE(added) << added.error().text();
    EXPECT_EQ(map.stage_of("void my_splat_kernel_fwd<3>()"), Stage::blend);
    EXPECT_EQ(map.stage_of("void my_splat_kernel_bwd<3>()"), Stage::other);
    EXPECT_EQ(map.stage_of("renderCUDA"), Stage::loss);
    EXPECT_EQ(map.stage_of("duplicateWithKeys"), Stage::emit);
    EXPECT_THAT(map.rule_of("renderCUDA")->origin, ::testing::EndsWith(":4"));
}

TEST_F(StageMapFile, ErrorsNameTheLine) {
    StageMap map;
    const std::size_t before = map.rules().size();
    for (const char* text :
         {"a = blend\nb blend\n", "a = blend\n*** = blend\n", "a = blend\nb = blending\n"}) {
        const auto added = map.add_file(write(text));
        ASSERT_FALSE(added) << text;
        EXPECT_EQ(added.error().line, 2u) << text;
    }
    EXPECT_EQ(map.rules().size(), before) << "a file with an error adds nothing";
    EXPECT_FALSE(map.add_file("/nonexistent/file"));
}

}  // namespace
}  // namespace gs::test
