// What a process is labelled with: its rank, job and pod, from its variables and control groups.
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "profiler/collect/client.h"

namespace gs::service {
namespace {

TEST(Labels, ComeFromTheLaunchersVariables) {
    using namespace std::string_literals;
    const auto torch = Connection::labels_from(
        "RANK=3\0LOCAL_RANK=1\0WORLD_SIZE=8\0SLURM_JOB_ID=42\0SLURM_PROCID=9"s);
    EXPECT_EQ(torch.rank, 3);
    EXPECT_EQ(torch.local_rank, 1);
    EXPECT_EQ(torch.world_size, 8);
    EXPECT_EQ(torch.job, "42");
    const auto mpi = Connection::labels_from(
        "OMPI_COMM_WORLD_RANK=0\0KUBERNETES_SERVICE_HOST=x\0HOSTNAME=pod-7"s);
    EXPECT_EQ(mpi.rank, 0);
    EXPECT_EQ(mpi.pod, "pod-7");
    const auto none = Connection::labels_from("HOSTNAME=desk\0RANK=first\0RANKING=3"s);
    EXPECT_EQ(none.rank, -1);
    EXPECT_EQ(none.pod, "");
}

// Without a launcher's number the job is found by how Kubernetes' controllers name their pods.
TEST(Labels, TellTheJobOfAPod) {
    using namespace std::string_literals;
    const auto job = [](const std::string& variables) {
        return Connection::labels_from("KUBERNETES_SERVICE_HOST=x\0"s + variables).job;
    };
    EXPECT_EQ(job("HOSTNAME=bert-worker-3"), "bert");        // PyTorchJob, MPIJob
    EXPECT_EQ(job("HOSTNAME=bert-launcher-x7k2p"), "bert");  // MPIJob
    EXPECT_EQ(job("HOSTNAME=bert-worker-3\0MASTER_ADDR=bert-master-0"s), "bert");
    EXPECT_EQ(job("HOSTNAME=bert-master-0\0MASTER_ADDR=localhost"s), "bert");
    EXPECT_EQ(job("HOSTNAME=a-b-node-0-2-x7k2p\0JOB_COMPLETION_INDEX=2"s), "a-b");  // TrainJob
    EXPECT_EQ(job("HOSTNAME=set-actors-1-0-x7k2p\0MASTER_ADDR=set-learner-0-0.set.ns.svc"s),
              "set");                                            // JobSet
    EXPECT_EQ(job("HOSTNAME=v-task-1\0VC_TASK_INDEX=1"s), "v");  // Volcano
    EXPECT_EQ(job("HOSTNAME=job-7-x7k2p\0JOB_COMPLETION_INDEX=7"s), "job");
    EXPECT_EQ(job("HOSTNAME=web-5d4f8c9b7-x7k2p"), "web");  // Deployment
    EXPECT_EQ(job("HOSTNAME=single"), "single");
    EXPECT_EQ(job("HOSTNAME=bert-worker-3\0JOBSET_NAME=mine"s), "mine");
    EXPECT_EQ(job("HOSTNAME=bert-worker-3\0TORCHELASTIC_RUN_ID=none\0GAUSSCOPE_JOB="s), "bert");
    EXPECT_EQ(job("HOSTNAME=gpu-17\0NODE_NAME=gpu-17.cluster"s), "");  // in the node's network
    EXPECT_EQ(job("HOSTNAME=p-1\0TORCHELASTIC_RUN_ID=none\0PET_RDZV_ID=none\0JOBSET_NAME=s"s), "s");
    EXPECT_EQ(job("GAUSSCOPE_JOB=night\0TORCHELASTIC_RUN_ID=7"s), "night");
    // Jobs of a sweep stay apart, by their names or their scheduler's numbers.
    EXPECT_EQ(job("HOSTNAME=sweep-1-x7k2p"), "sweep-1");
    EXPECT_EQ(job("HOSTNAME=sweep-1-3-x7k2p\0JOB_COMPLETION_INDEX=3"s), "sweep-1");
    EXPECT_EQ(job("HOSTNAME=exp-12"), "exp-12");
    EXPECT_EQ(job("HOSTNAME=exp-12-worker-0"), "exp-12");
    EXPECT_EQ(job("GAUSSCOPE_JOB=night\0SLURM_JOB_ID=42"s), "42");
    // The address of the first rank may be a node's.
    EXPECT_EQ(job("HOSTNAME=bert-worker-3\0MASTER_ADDR=gpu-07"s), "bert");
    EXPECT_EQ(job("HOSTNAME=bert-worker-3\0MASTER_ADDR=gpu-07.gpu.local"s), "bert");
    EXPECT_EQ(Connection::labels_from("HOSTNAME=desk-worker-3"s).job, "");
}

TEST(Labels, TellWhereTheControlGroupIs) {
    using namespace std::string_literals;
    const std::string id(64, 'a');
    const auto pod = Connection::labels_from(
        "POD_NAME=bert-worker-0\0POD_NAMESPACE=team\0NODE_NAME=n7"s,
        "0::/../../kubepods-burstable-pod0a1b.slice/cri-containerd-" + id + ".scope\n");
    EXPECT_EQ(pod.name_space, "team");
    EXPECT_EQ(pod.node, "n7");
    EXPECT_EQ(pod.job, "bert");
    for (const char* group : {"0::/kubepods/pod1/x\n", "0::/../../pod0a1b-2c/x\n"})
        EXPECT_EQ(Connection::labels_from("HOSTNAME=bert-worker-0", group).pod, "bert-worker-0");
    const auto slurm =
        Connection::labels_from("", "1:cpuset:/slurm/uid_1000/job_4242/step_0\n0::/system.slice\n");
    EXPECT_EQ(slurm.job, "4242");
}

TEST(Labels, TellTheJobsNameAndItsCommit) {
    using namespace std::string_literals;
    const auto labels =
        Connection::labels_from("SLURM_JOB_NAME=garden\0SLURM_JOB_ID=42\0GIT_COMMIT=abc"s);
    EXPECT_EQ(labels.job_name, "garden");
    EXPECT_EQ(
        Connection::labels_from("GAUSSCOPE_JOB=night\0SLURM_JOB_NAME=garden\0SLURM_JOB_ID=42"s)
            .job_name,
        "night");
    EXPECT_EQ(labels.commit, "abc");
    // Prometheus takes no other bytes, and a label is in every line.
    EXPECT_EQ(Connection::labels_from("JOB_ID=a\xff\xc0\xaf\n\xc3\xa9"s).job, "a??? \xc3\xa9");
    EXPECT_LT(Connection::labels_from("JOB_ID=" + std::string(100'000, 'x')).job.size(), 200u);
}

TEST(Labels, OfThisProcess) {
    const ProcessLabels labels = Connection::labels_of(static_cast<std::uint32_t>(::getpid()));
    EXPECT_NE(labels.command.find("service_endpoint"), std::string::npos);
    EXPECT_FALSE(labels.host.empty());
    EXPECT_TRUE(Connection::labels_of(0).empty());
}

}  // namespace
}  // namespace gs::service
