// A library for tests that makes the n-th call of a kind fail, as a full disk, a broken disk or a full memory would:
//   LD_PRELOAD=libpergola_faults.so PERGOLA_FAULT=write:3 pergola run ...
// PERGOLA_FAULT        KIND:N, the N-th call of the kind fails; KIND:N+, it and all after it; KIND:N:ERRNO, with this
//                      error number instead of the kind's own; KIND:N:stop, the process stops (SIGSTOP) before it and
//                      the call is made when it goes on. Kinds: open (for writing), write, reserve, truncate,
//                      sync, close (of what was written), rename, mkdir, remove, alloc, mpi
// PERGOLA_FAULT_UNDER  only calls about this folder and files in it count (an absolute path without links)
// PERGOLA_FAULT_RANK   only this rank of mpirun
// PERGOLA_FAULT_LOG    a file that gets a line per call: kind, its number, what it is about, separated by tabs
// PERGOLA_FAULT_EVERY  allocations count where the program itself asks: all of 64 KB and more, and every so many of
//                      the others (default 97)
// Child processes are left alone.
#include "faults.hpp"

#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace faults {

namespace {

struct Name {
  const char* word;
  int error;
};
constexpr std::array<Name, kinds> names{{{"open", EDQUOT},
                                         {"write", ENOSPC},
                                         {"reserve", ENOSPC},
                                         {"truncate", EIO},
                                         {"sync", EIO},
                                         {"close", EIO},
                                         {"rename", EIO},
                                         {"mkdir", ENOSPC},
                                         {"remove", EIO},
                                         {"alloc", ENOMEM},
                                         {"mpi", EIO}}};

constexpr int stops = -1;  // in place of an error number

struct Plan {
  int kind = -1, error = 0;
  long number = 0;
  bool on = false;  // all after it too
  char under[4096] = "";
  int log = -1;
  std::uintptr_t program_begin = 0, program_end = 0;
};
Plan plan;
std::array<std::atomic<long>, kinds> counts;

void read_fault(const char* text) {
  const char* colon = std::strchr(text, ':');
  if (!colon) return;
  for (int k = 0; k < kinds; ++k)
    if (std::strlen(names[static_cast<std::size_t>(k)].word) == static_cast<std::size_t>(colon - text) &&
        std::strncmp(names[static_cast<std::size_t>(k)].word, text, static_cast<std::size_t>(colon - text)) == 0) {
      plan.kind = k;
      plan.error = names[static_cast<std::size_t>(k)].error;
    }
  char* end = nullptr;
  plan.number = std::strtol(colon + 1, &end, 10);
  plan.on = *end == '+';
  if (plan.on) ++end;
  if (*end == ':') plan.error = std::strcmp(end + 1, "stop") == 0 ? stops : std::atoi(end + 1);
}

int find_program(dl_phdr_info* info, std::size_t, void*) {
  for (int k = 0; k < info->dlpi_phnum; ++k) {
    const auto& part = info->dlpi_phdr[k];
    if (part.p_type != PT_LOAD || !(part.p_flags & PF_X)) continue;
    plan.program_begin = info->dlpi_addr + part.p_vaddr;
    plan.program_end = plan.program_begin + part.p_memsz;
  }
  return 1;  // the first object is the program
}

[[gnu::constructor]] void start() {
  const char* rank = std::getenv("PERGOLA_FAULT_RANK");
  const char* own_rank = std::getenv("OMPI_COMM_WORLD_RANK");
  const bool chosen = !rank || (own_rank && std::strcmp(rank, own_rank) == 0);
  if (const char* under = std::getenv("PERGOLA_FAULT_UNDER")) std::snprintf(plan.under, sizeof plan.under, "%s", under);
  const char* log = std::getenv("PERGOLA_FAULT_LOG");
  if (log && chosen)
    plan.log = static_cast<int>(syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  const char* fault = std::getenv("PERGOLA_FAULT");
  if (fault && chosen) read_fault(fault);
  for (const char* name : {"PERGOLA_FAULT", "PERGOLA_FAULT_LOG", "LD_PRELOAD"}) unsetenv(name);
  dl_iterate_phdr(find_program, nullptr);
}

}  // namespace

int count(Kind kind, const char* detail, const char* second) {
  const auto k = static_cast<std::size_t>(kind);
  const int before = errno;
  const long number = ++counts[k];
  if (plan.log >= 0) {
    char line[8192];
    const int length = std::snprintf(line, sizeof line, "%s\t%ld\t%s%s%s\n", names[k].word, number, detail,
                                     second ? "\t" : "", second ? second : "");
    syscall(SYS_write, plan.log, line, static_cast<std::size_t>(length));
  }
  errno = before;
  if (plan.kind != static_cast<int>(kind)) return 0;
  if (number != plan.number && !(plan.on && number > plan.number)) return 0;
  if (plan.error != stops) return plan.error;
  raise(SIGSTOP);
  return 0;
}

bool counted(const char* path) {
  const std::size_t length = std::strlen(plan.under);
  return std::strncmp(path, plan.under, length) == 0 && (length == 0 || path[length] == '/' || path[length] == 0);
}

bool in_program(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  return at >= plan.program_begin && at < plan.program_end;
}

}  // namespace faults
