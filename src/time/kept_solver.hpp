#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/state_source.hpp"
#include "gravity/solver.hpp"
#include "gravity/spread_state.hpp"
#include "particles/particle_store.hpp"

namespace pergola {

/// A solver whose work for one step may serve the next ones too, AnySolver::update(), and which is lent in between:
/// what the steps build on is then put aside.
template <class Real>
class KeptSolver {
 public:
  explicit KeptSolver(std::unique_ptr<Solver<Real>> solver) : solver_(std::move(solver)) {}
  Solver<Real>* operator->() const { return solver_.get(); }
  Solver<Real>& operator*() const { return *solver_; }

  /// Nothing is known of the sources that come.
  void forget() { prepared_ = lent_ = has_answers_ = at_sources_ = false; }
  /// For sources of which some ask; few: what was prepared for an earlier step will do.
  void take(const Sources<Real>& sources, bool few) {
    take_back();
    at_sources_ = has_answers_ = false;
    if (prepared_ && few)
      solver_->update(sources);
    else
      solver_->prepare(sources);
    prepared_ = at_sources_ = has_answers_ = true;
  }
  /// The sources are the same on other ranks, or in another order.
  void be_given_anew() { has_answers_ = false; }
  /// The sources have moved, and none asks.
  void pass() { at_sources_ = has_answers_ = false; }
  /// Whether it can evaluate() for the sources of the last step, which are still where they were. Finds what was lost
  /// by lending once more, with the same bits.
  bool answer_again(const Sources<Real>& sources) {
    if (!at_sources_) return false;
    take_back();
    if (!has_answers_) solver_->update(sources);
    has_answers_ = true;
    return true;
  }

  AnySolver* lend() {
    if (prepared_ && !lent_) solver_->put_aside();
    lent_ = prepared_;
    has_answers_ = false;
    solver_->set_clock(nullptr);
    return solver_.get();
  }
  void take_back() const {
    if (lent_) solver_->take_up();
    lent_ = false;
  }
  void save(StateSource& to) const {
    take_back();
    if (auto* const spread = dynamic_cast<SpreadSolverState*>(&solver_->plain())) return spread->save(to);
    StateBlocks blocks;
    solver_->save(blocks);
    to.put_blocks(std::move(blocks));
  }
  /// From what a checkpoint holds beside the fields of a store.
  void restore(const FieldList& store, StateInput& from, std::int64_t count) {
    forget();
    if (auto* const spread = dynamic_cast<SpreadSolverState*>(&solver_->plain())) {
      prepared_ = spread->restore(from, count);
      return;
    }
    StateBlocks rest;
    for (const std::string& name : from.names()) {
      if (store.holds(name)) continue;
      std::vector<std::byte> bytes(static_cast<std::size_t>(from.bytes(name)));
      from.read(name, 0, bytes.data(), bytes.size());
      rest.blocks()[name] = std::move(bytes);
    }
    prepared_ = solver_->restore(rest, count);
  }

 private:
  std::unique_ptr<Solver<Real>> solver_;
  bool prepared_ = false;      // it can update()
  mutable bool lent_ = false;  // what it builds on is put aside
  bool at_sources_ = false;    // that is at the places of the last step
  bool has_answers_ = false;   // and it can evaluate()
};

}  // namespace pergola
