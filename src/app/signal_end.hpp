#pragma once

namespace pergola::app {

/// From here on Ctrl-C, SIGTERM and a terminal that goes away end the program with exit code 130, once files that have
/// no name yet are removed, unless a command catches them itself (catch_interrupts()) or they were ignored before.
/// `speaks`: whether this process says so. Once.
void end_on_signals(bool speaks);
/// This process has said why it ends: a signal that comes now (mpirun's, where another rank was faster) adds nothing.
void end_on_signals_silently();

}  // namespace pergola::app
