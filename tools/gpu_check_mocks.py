"""The tools beside gausscope that stages call: found on the machine, or, in a rehearsal, stand-ins that take the same options
and answer in the same form, so that what reads their answers is run before a GPU is there."""
import pathlib
import shutil

from gpu_check_run import Stage

PLACES = ["/usr/local/cuda/bin", "/usr/local/nvidia/bin", "/opt/nvidia/nsight-compute", "/usr/lib/nsight-compute"]

# Takes options up to the program, which it runs.
SANITIZER = """#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in
    --racecheck-report|--tool|--error-exitcode) shift 2 ;;
    -*) shift ;;
    *) break ;;
  esac
done
echo '========= COMPUTE-SANITIZER (a stand-in: nothing is checked)'
exec "$@"
"""

# The same, and a table in the form of `ncu --csv --page raw`.
NCU = """#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in
    --metrics|--print-units|-k|-c|--clock-control|--page) shift 2 ;;
    -*) shift ;;
    *) break ;;
  esac
done
"$@"
cat <<'TABLE'
==PROF== Disconnected from process 1
"ID","Process ID","Kernel Name","gpu__time_duration.sum","smsp__inst_executed.sum","launch__registers_per_thread","sm__warps_active.avg.pct_of_peak_sustained_active","dram__bytes_read.sum","dram__bytes_write.sum"
"","","","ns","inst","register/thread","%","byte","byte"
"0","1","void gs::cuda::(anonymous namespace)::emit<unsigned short>(EmitParams<unsigned short>)","152,000","66,900,000","53","49.5","680,000,000","140,000,000"
"1","1","void gs::cuda::(anonymous namespace)::emit<unsigned short>(EmitParams<unsigned short>)","150,000","66,900,000","53","49.5","680,000,000","140,000,000"
TABLE
"""

NVIDIA_SMI = "#!/bin/sh\necho 'a stand-in: no GPU is here'\n"
STAND_INS = {"compute-sanitizer": SANITIZER, "ncu": NCU, "nvidia-smi": NVIDIA_SMI}


def tool(stage: Stage, name: str) -> pathlib.Path | None:
    if stage.options.rehearse:
        file = stage.options.out / "stand_ins" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(STAND_INS[name], encoding="utf-8")
        file.chmod(0o755)
        return file
    if found := shutil.which(name):
        return pathlib.Path(found)
    for place in map(pathlib.Path, PLACES):
        for found in [place / name, *sorted(place.glob(f"*/{name}"))]:
            if found.is_file():
                return found
    return None
