# Sourced by ./check and ./demo in the repository's folder: where they build, the compiler cache, and phases, each of which says
# what it cost and, when anything in it fails, that it was the one.
#
#   BUILD_DIR=folder   the build folder (default build), from the repository's folder
#   JOBS=4             processes (default: all cores)
root=$PWD
program=${0##*/}
jobs=${JOBS:-$(nproc)}
build=$(realpath -m -- "${BUILD_DIR:-build}")

# A phase ends where the next begins. CPU time is that of all processes a phase ran to their end.
phases=()
phase=
cpu_ticks() { local stat; read -r -a stat </proc/$$/stat; echo $((stat[13] + stat[14] + stat[15] + stat[16])); }
ticks_a_second=$(getconf CLK_TCK)
end_phase() {
  [ -z "$phase" ] && return
  phases+=("$(printf '%6d s %8d CPU-s   %s' $((SECONDS - phase_start)) $((($(cpu_ticks) - phase_ticks) / ticks_a_second)) "$phase")")
  phase=
}
begin() {
  end_phase
  phase=$1 phase_start=$SECONDS phase_ticks=$(cpu_ticks)
  printf '\n== %s\n' "$phase"
}
failure=
fail() { failure=$1; exit 1; }
on_exit() {
  local status=$?
  [ $status = 0 ] && return
  printf '\n%s: FAILED in "%s": %s\n' "$program" "${phase:-start}" "${failure:-exit code $status}" >&2
}
trap on_exit EXIT
trap 'failure=interrupted; exit 130' INT TERM
summary() {
  end_phase
  printf '\n== summary\n'
  printf '%s\n' "${phases[@]}"
  printf '%6d s %8d CPU-s   in all\n' "$SECONDS" $(($(cpu_ticks) / ticks_a_second))
}

# The compiler cache works for every checkout alike. Where its folder cannot be written (a home that is read-only or absent, or
# what another user left in it), it is in the build folder.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
use_cache() {
  command -v ccache >/dev/null || return 0
  local folder
  folder=$(ccache --get-config cache_dir 2>/dev/null) || folder=
  if [ -z "$folder" ] || ! mkdir -p "$folder/tmp" 2>/dev/null || [ ! -w "$folder" ] || [ ! -w "$folder/tmp" ]; then
    export CCACHE_DIR=$build/ccache
  fi
}

# Both compile with the same options, so that neither compiles again what the other has compiled. g++ tidies its memory whenever
# it has grown beyond 128 MB. Where every process may take 3 GB it need not, which saves an eighth of compiling.
options=(-DCMAKE_BUILD_TYPE=Release -DGAUSSCOPE_STUDIO=ON)
if [ $(($(awk '/^MemTotal/ { print $2 }' /proc/meminfo) / jobs)) -ge 3000000 ] &&
    "${CXX:-c++}" --version 2>/dev/null | grep -q 'Free Software Foundation'; then
  options+=("-DCMAKE_CXX_FLAGS=${CXXFLAGS:-} --param=ggc-min-heapsize=1000000")
fi

# configure FOLDER OPTION...: its log is in FOLDER.
configure() {
  local folder=$1
  shift
  mkdir -p "$folder"
  cmake -S "$root" -B "$folder" -G Ninja "$@" >"$folder/configure.log" 2>&1 || { cat "$folder/configure.log"; fail 'configure'; }
}

# build FOLDER NINJA-ARGUMENT...: runs ninja. Each step says what share is done and how many minutes are probably left: what its
# kind costs on average, in seconds, for a file of twelve sources is not a link.
build() {
  local folder=$1 line cost all=0 done=0 left
  shift
  # Under its own name, ninja would only say that it looks for new sources first.
  cp "$folder/build.ninja" "$folder/planned.ninja"
  while IFS= read -r line; do
    cost_of "$line"
    all=$((all + cost))
  done < <(ninja -C "$folder" -f planned.ninja -n "$@")
  rm -f "$folder/planned.ninja"
  NINJA_STATUS='%e ' ninja -C "$folder" -j "$jobs" "$@" | while IFS= read -r line; do
    if [[ $line =~ ^([0-9]+)\.[0-9]+\ ([A-Z].*) ]] && [ "$all" -gt 0 ]; then
      cost_of "${BASH_REMATCH[2]}"
      done=$((done + cost < all ? done + cost : all)) left='?'
      [ $((done * 20)) -lt "$all" ] || left=$(((BASH_REMATCH[1] * (all - done) / done + 30) / 60))
      line=$(printf '[%3d %%, %s min left] %s' $((100 * done / all)) "$left" "${BASH_REMATCH[2]}")
    fi
    printf '%s\n' "$line"
  done
}
cost_of() {
  case $1 in
    *'Building CUDA'*) cost=6 ;;
    *Unity/*) cost=15 ;;
    *'Building CXX'*) cost=4 ;;
    *Linking*) cost=1 ;;
    *) cost=0 ;;
  esac
}
