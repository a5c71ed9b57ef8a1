// What checkpoints and spills tell the reclaimer: which frames have a place in the file now.

internal import Synchronization

extension Reclaimer {
  /// Who has written a frame home.
  package enum Flipper {
    case checkpoint
    /// A spill of the transaction that will be this commit.
    case spill(csn: UInt64)
    /// A spill of what only snapshots older than every checkpoint to come can reach: entry and place go when they do.
    case heldPages
  }

  /// From now on frames may be written.
  package func beginCheckpoint() { state.withLock { $0.isCheckpointing = true } }

  /// Flips a frame to the place it was written to. `image` is the slot with the final image.
  package func flip(
    _ frame: FrameIndex, to number: PageNumber, checksum: UInt64, image: UnsafeMutableRawPointer, by flipper: Flipper
  ) {
    let address = UInt(bitPattern: image)
    state.withLock { state in
      assert(!store.frames.location(frame).isPageNumber, "a frame is written home twice")
      store.install(address, at: number, checksum: checksum)
      store.frames.flip(frame, to: number, checksum: checksum)
      switch flipper {
      case .checkpoint: state.flipped[UInt64(frame.rawValue)] = true
      case .spill(let csn) where store.frames.birth(frame) == csn:
        state.spilledByRunning[UInt64(frame.rawValue)] = true
      case .spill:
        state.spilled[UInt64(frame.rawValue)] = true
        state.spilledByCommit[UInt64(frame.rawValue)] = true
      case .heldPages: break
      }
    }
  }

  /// Gives up the entries of frames that the commit `csn` has spilled, its own and others'.
  ///
  /// A spill writes everything that its transaction can reach, and branch pages are translated as they are written:
  /// what refers to such a frame is a page that the commit has replaced, or a root, which the next transaction
  /// translates. So snapshots up to `csn` need the entry, and no later one. Unless the spill was of a tree that is
  /// being built, or has failed in its midst: see `notePartialSpill`.
  package func releaseSpilled(csn: UInt64, _ permit: borrowing WriterPermit) {
    state.withLock { state in
      guard !state.spilledByCommit.isEmpty else { return }
      defer { state.spilledByCommit = PageBits() }
      guard !state.isSpillPartial else { return }
      assert(state.spilledByRunning.isEmpty, "what a commit has spilled is still its own")
      state.spilledByCommit.forEach { index in
        // A checkpoint that has ended meanwhile has taken it over.
        guard state.spilled.remove(index) else { return }
        let birth = store.frames.birth(FrameIndex(UInt32(index)))
        entries.append(Item(kind: .entry, value: index, birth: birth, death: csn + 1))
      }
    }
  }

  /// Notes that pages which the running transaction will reach refer to frames that it has spilled: those of a tree
  /// that is being built, or those above where a spill has failed.
  package func notePartialSpill(_ permit: borrowing WriterPermit) { state.withLock { $0.isSpillPartial = true } }

  /// Forgets what the running transaction has spilled of other commits' pages, which stay written: it has begun, or was
  /// rolled back.
  package func forgetSpill() {
    state.withLock { state in
      state.spilledByCommit = PageBits()
      state.isSpillPartial = false
    }
  }

  /// Gives up the places that frames of the running transaction have spilled to: nobody else can reach them. The
  /// frames themselves stay their owner's to release.
  package func giveUpPlaces(of frames: some Sequence<FrameIndex>) {
    state.withLock { state in
      for frame in frames { giveUpPlace(frame, &state) }
    }
  }

  /// Frees frames of the running transaction that nobody can reach, and the places that they have spilled to. What the
  /// writer has borrowed from the slots of those that have not spilled stays until it moves on.
  package func releaseDead(_ frames: [FrameIndex]) {
    guard !frames.isEmpty else { return }
    state.withLock { state in
      var slotAddresses: [UInt] = []
      for frame in frames {
        giveUpPlace(frame, &state)
        let location = store.frames.location(frame)
        if !location.isPageNumber { slotAddresses.append(UInt(bitPattern: location.slot)) }
      }
      store.frames.release(frames)
      store.retire(slotAddresses)
    }
  }

  func giveUpPlace(_ frame: FrameIndex, _ state: inout State) {
    let location = store.frames.location(frame)
    guard location.isPageNumber, location.pageNumber != .none else { return }
    _ = state.flipped.remove(UInt64(frame.rawValue))
    _ = state.spilled.remove(UInt64(frame.rawValue))
    _ = state.spilledByRunning.remove(UInt64(frame.rawValue))
    store.forget(location.pageNumber)
    allocator.discard(location.pageNumber)
    store.frames.clear(frame)
  }

  /// Takes the slots of branch pages whose translated images took their place; readers may be inside them.
  package func retireSlots(_ oldSlots: [UInt]) { store.retire(oldSlots) }

  /// Announces every snapshot below `csn` that a reader holds, so that its dirty pages can be written; the caller ends
  /// each announcement. Those that there is no place for are left out, and so are those of readers that have announced
  /// what was collected before, and have yet to find that out.
  package func announceHeld(below csn: CSN) -> [(slot: ReaderSlot, snapshot: SnapshotRecord)] {
    state.withLock { state in
      // Nothing is given up while this lock is held: an announcement made now keeps what is there.
      let announced = slots.announcedCSNs()
      let (collected, intact) = (state.collected, state.intact)
      func isHeld(_ snapshot: UInt64) -> Bool {
        announced.contains(snapshot) && (snapshot >= collected || intact.contains(snapshot))
      }
      return state.snapshots.filter { $0.csn < csn && isHeld($0.csn.rawValue) }
        .compactMap { snapshot in slots.announceOwnIfPossible(snapshot.csn).map { ($0, snapshot) } }
    }
  }

  /// The places, ascending, of what may be values of one page that nobody but readers of these snapshots needs. They
  /// stay as they are for as long as the caller announces the snapshots.
  package func heldValues(of snapshots: [CSN]) -> [UInt64] {
    state.withLock { state in
      let items = snapshots.compactMap { state.held[$0.rawValue] }.joined()
      return items.filter { $0.kind == .extent && $0.pageCount == 1 }.map(\.value).sorted()
    }
  }

  /// Frees at once the entry of a frame that has been written and that no page in memory refers to: the catalog's.
  package func releaseEntry(_ frame: FrameIndex) {
    state.withLock { state in
      state.flipped[UInt64(frame.rawValue)] = false
      store.frames.release(frame)
    }
  }

  /// Ends a checkpoint.
  ///
  /// Entries of the frames it wrote are kept: branch pages made up to `horizon` may refer to them, and every one made
  /// later was translated when it was copied. Those of a checkpoint before are retired if all pages made up to *its*
  /// horizon are part of this one, and hence written by now, or were replaced. The last checkpoint need not be such a
  /// one: a transaction that ran while it ended may have been appended only after this one had frozen its state.
  /// Snapshots up to `horizon` may still have such a frame as a root, hence the death at `horizon + 1`.
  ///
  /// - Parameters:
  ///   - csn: the commit that the checkpoint holds.
  ///   - oldSlots: slots of branch pages whose translated images took their place; readers may be inside them.
  ///   - raiseHorizon: tells the CSN of the transaction that is running, or of the next one. Asked while nothing is
  ///     flipped: what a transaction beyond the horizon has spilled would be given up too early.
  ///   - isDone: false if the checkpoint failed: what it wrote stays written, and the next one finishes the work.
  package func finishCheckpoint(of csn: CSN, oldSlots: [UInt], isDone: Bool, raiseHorizon: () -> UInt64) {
    // No page is flipped by the checkpoint any more. In slices, as commits want the latch too.
    while state.withLock({ settleRaced(Self.sliceCount, &$0) }) {}
    let (horizon, due, flipped) = state.withLock { state in
      let horizon = raiseHorizon()
      _ = settleRaced(.max, &state)
      assert(state.isCheckpointing, "a checkpoint ends that has not begun")
      assert(horizon >= csn.rawValue, "a checkpoint holds more than there is")
      state.isCheckpointing = false
      store.retire(oldSlots)
      guard isDone else { return (horizon, [ChunkedList<UInt32>](), PageBits?.none) }
      let due = state.written.filter { $0.horizon <= csn.rawValue }.map(\.frames)
      state.written.removeAll { $0.horizon <= csn.rawValue }
      state.flipped.formUnion(state.spilled)
      let flipped = state.flipped
      state.flipped = PageBits()
      state.spilled = PageBits()
      return (horizon, due, flipped)
    }
    guard let flipped else { return }
    for frames in due { retireEntries(frames, horizon: horizon) }
    let frames = ChunkedList<UInt32>()
    flipped.forEach { frames.append(UInt32($0)) }
    state.withLock { $0.written.append((horizon, frames)) }
  }

  /// Gives up the places of `count` frames that were replaced while they were being written: they are known only now.
  /// True if there may be more.
  private func settleRaced(_ count: Int, _ state: inout State) -> Bool {
    let doneCount = raced.removeFirst(count) { item in
      guard state.flipped.remove(UInt64(item.frame)) else { return }
      allocator.supersede(store.frames.location(FrameIndex(item.frame)).pageNumber, csn: item.csn)
    }
    return doneCount == count
  }

  /// Retires the entries of frames, in slices. The queue stays in the order of deaths: what commits add meanwhile may
  /// die later.
  private func retireEntries(_ frames: ChunkedList<UInt32>, horizon: UInt64) {
    var index = 0
    while index < frames.count {
      let end = min(index + Self.sliceCount, frames.count)
      state.withLock { _ in
        let death = max(horizon + 1, entries.isEmpty ? 0 : entries[entries.count - 1].death)
        for frame in frames.from(index).prefix(end - index) {
          let birth = store.frames.birth(FrameIndex(frame))
          entries.append(Item(kind: .entry, value: UInt64(frame), birth: birth, death: death))
        }
      }
      index = end
    }
  }
}
