#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/stopwatch.hpp"
#include "comm/communicator.hpp"
#include "comm/counted_communicator.hpp"
#include "domain/device_messages.hpp"

namespace pergola {

namespace {

/// What a rank tells the others of its room.
struct RoomNote {
  MemoryHandle ticket;
  std::int64_t number = 0;
};

/// Users may keep messages off the devices' memory where the system does not bear it.
bool wants_host() {
  const char* const words = std::getenv("PERGOLA_DEVICE_MESSAGES");
  return words && std::string_view(words) == "host";
}

template <class Messages>
std::int64_t bytes_of(const Messages& messages) {
  std::int64_t bytes = 0;
  for (const auto& message : messages) bytes += static_cast<std::int64_t>(message.bytes);
  return bytes;
}

/// Numbers change a little from step to step.
std::int64_t with_spare(std::int64_t bytes) { return bytes + bytes / 16; }
std::int64_t whole_pages(std::int64_t bytes) { return (bytes + ticket_unit - 1) / ticket_unit * ticket_unit; }

/// Tries whether each rank can open the memory of each other.
bool all_open_all(const Device& device, Communicator& ranks) {
  const Buffer<std::byte> page(device, ticket_unit);
  const auto size = static_cast<std::size_t>(ranks.size()), own = static_cast<std::size_t>(ranks.rank());
  std::vector<MemoryHandle> tickets(size);
  tickets[own] = ticket_for(device, page.data());
  ranks.all_gather_in_place(tickets.data(), std::vector<std::size_t>(size, sizeof(MemoryHandle)));
  std::int64_t reaches = 1;
  for (std::size_t r = 0; r < size && reaches; ++r) {
    PeerMemory peer;
    if (r != own && !peer.open(device, tickets[r])) reaches = 0;
  }
  ranks.all_reduce(&reaches, 1, Reduction::minimum);  // and all have closed what they opened
  return reaches == 1;
}

/// Whether users or machines keep messages off the devices' memory, and off MPI, on any rank.
struct Unwanted {
  std::int64_t on_devices, by_mpi;
};
Unwanted unwanted(Communicator& ranks) {
  std::int64_t all[2] = {wants_host() ? 1 : 0, mpi_takes_device_pointers() ? 0 : 1};
  ranks.all_reduce(all, 2, Reduction::maximum);
  return {all[0], all[1]};
}

}  // namespace

DeviceMessages::DeviceMessages(const Device& device, std::shared_ptr<Communicator> ranks, Rooms rooms,
                               std::int64_t most_bytes)
    : device_(device),
      ranks_(std::move(ranks)),
      rooms_(rooms == Rooms::two ? 2 : 1),
      most_bytes_(most_bytes),
      peers_(std::make_unique<OpenedRoom[]>(rooms_ * size())) {}

bool DeviceMessages::all_reach_all() const { return all_open_all(device_, *ranks_); }

void DeviceMessages::find_way() {
  if (way_ != Way::unknown) return;
  way_ = Way::through_host;
  const Unwanted ways = unwanted(*ranks_);
  if (ways.on_devices) return;
  if (all_reach_all())
    way_ = Way::opened;
  else if (!ways.by_mpi)
    way_ = Way::by_mpi;
}

std::int64_t DeviceMessages::bytes(std::int64_t most) const {
  if (size() == 1 || most == 0) return 0;
  return static_cast<std::int64_t>(rooms_) * whole_pages(with_spare(most)) + with_spare(most);
}

std::byte* DeviceMessages::room_on_host(SharedBuffer<std::byte>& memory, std::int64_t bytes) const {
  if (memory.size() < bytes) {
    device_.synchronize();  // it may still be read
    memory = SharedBuffer<std::byte>();
    memory = SharedBuffer<std::byte>(device_, with_spare(bytes));
  }
  return memory.data();
}

std::byte* DeviceMessages::outgoing(std::int64_t bytes) {
  find_way();
  if (!on_device()) return room_on_host(host_out_, bytes);
  OpenRoom& room = out_[now_];
  if (room.memory.size() < bytes) {
    device_.synchronize();
    // Others close it when they open the new one. A room that grows again before that was never open.
    if (room.retired.size() == 0) room.retired = std::move(room.memory);
    room.memory = Buffer<std::byte>();
    room.memory = Buffer<std::byte>(device_, whole_pages(with_spare(bytes)));
    room.ticket = ticket_for(device_, room.memory.data());
    ++room.number;
  }
  return room.memory.data();
}

std::byte* DeviceMessages::incoming(std::int64_t bytes) {
  find_way();
  if (!on_device()) return room_on_host(host_in_, bytes);
  if (in_.size() < bytes) {
    device_.synchronize();
    in_ = Buffer<std::byte>();
    in_ = Buffer<std::byte>(device_, with_spare(bytes));
  }
  return in_.data();
}

void DeviceMessages::exchange(const std::vector<Communicator::Outgoing>& out,
                              const std::vector<Communicator::Incoming>& in) {
  device_.synchronize();
  if (way_ == Way::opened) return take_from_devices(out, in);
  ranks_->exchange(out, in);
}

/// Ranks tell each other where in their rooms the messages stand, and copy them.
void DeviceMessages::take_from_devices(const std::vector<Communicator::Outgoing>& out,
                                       const std::vector<Communicator::Incoming>& in) {
  OpenRoom& room = out_[now_];
  // A note for each rank: the room, and where the first message to each rank stands in it.
  const std::size_t note_bytes = sizeof(RoomNote) + size() * sizeof(std::int64_t);
  std::vector<std::byte> notes(size() * note_bytes);
  std::vector<std::int64_t> first(size(), -1), sent(out.size()), got(in.size());
  std::vector<Communicator::Outgoing> more_out;
  std::vector<Communicator::Incoming> more_in;
  for (std::size_t k = 0; k < out.size(); ++k) {
    sent[k] = static_cast<const std::byte*>(out[k].data) - room.memory.data();
    std::int64_t& one = first[static_cast<std::size_t>(out[k].rank)];
    if (one < 0)
      one = sent[k];
    else
      more_out.push_back({out[k].rank, &sent[k], sizeof sent[k]});
  }
  const RoomNote own{room.ticket, room.number};
  std::memcpy(notes.data() + own_rank() * note_bytes, &own, sizeof own);
  std::memcpy(notes.data() + own_rank() * note_bytes + sizeof own, first.data(), size() * sizeof first[0]);
  ranks_->all_gather_in_place(notes.data(), std::vector<std::size_t>(size(), note_bytes));
  // All have taken what the exchange before has sent them, and have closed what was retired before it.
  if (rooms_ == 2) out_[1 - now_].retired = Buffer<std::byte>();
  OpenedRoom* const peers = peers_.get() + now_ * size();
  for (std::size_t r = 0; r < size(); ++r) {
    RoomNote note;
    std::memcpy(&note, notes.data() + r * note_bytes, sizeof note);
    if (r == own_rank() || note.number == peers[r].number) continue;
    if (!peers[r].memory.open(device_, note.ticket))
      throw Error(ErrorKind::device, "the memory of another rank's device on this machine cannot be opened any more");
    peers[r].number = note.number;
  }
  std::vector<std::uint8_t> met(size());
  for (std::size_t k = 0; k < in.size(); ++k) {
    const auto r = static_cast<std::size_t>(in[k].rank);
    if (std::exchange(met[r], std::uint8_t{1}))
      more_in.push_back({in[k].rank, &got[k], sizeof got[k]});
    else
      std::memcpy(&got[k], notes.data() + r * note_bytes + sizeof(RoomNote) + own_rank() * sizeof got[k],
                  sizeof got[k]);
  }
  ranks_->exchange(more_out, more_in);
  const auto begin = Clock::now();
  for (std::size_t k = 0; k < in.size(); ++k)
    device_.memory().copy(in[k].data, peers[in[k].rank].memory.data() + got[k], in[k].bytes);
  if (rooms_ == 1) device_.synchronize();
  count_other_way(*ranks_, bytes_of(out), bytes_of(in), 0, seconds_since(begin));
  now_ = (now_ + 1) % rooms_;
  if (rooms_ == 2) return;
  ranks_->barrier();  // all have what they were sent: rooms are free again
  room.retired = Buffer<std::byte>();
}

std::shared_ptr<DeviceMessages> make_device_messages(const Device& device, std::shared_ptr<Communicator> ranks) {
  return std::make_shared<DeviceMessages>(device, std::move(ranks));
}

void DeviceMessages::unload(void* to, const void* message, std::int64_t bytes) const {
  if (bytes <= 0) return;
  if (on_device())
    device_.memory().copy(to, message, static_cast<std::size_t>(bytes));
  else
    device_.memory().from_host(to, message, static_cast<std::size_t>(bytes));
}

void DeviceMessages::load(void* message, const void* from, std::int64_t bytes) const {
  if (bytes <= 0) return;
  if (on_device())
    device_.memory().copy(message, from, static_cast<std::size_t>(bytes));
  else
    device_.memory().to_host(message, from, static_cast<std::size_t>(bytes));
}

}  // namespace pergola
