#pragma once
/// The public interface of the library; see examples/cpp. Installed as <pergola/pergola.hpp>.
#include "base/error.hpp"
#include "base/log.hpp"
#include "config/config.hpp"
#include "device/device.hpp"
#include "gravity/solver.hpp"
#include "io/snapshot.hpp"
#include "models/model.hpp"
#include "particles/particles.hpp"
#include "run/run.hpp"
#include "sim/plasma_simulation.hpp"
#include "sim/simulation.hpp"
