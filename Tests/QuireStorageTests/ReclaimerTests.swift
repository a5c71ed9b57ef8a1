// The rule of reclamation, over every small combination of births, deaths and readers.

import QuireTesting
import Testing

@testable import QuireStorage

@Suite struct ReclaimerTests {
  /// A store of 64 pages without trees, and a way to publish snapshots by hand.
  private struct Bench {
    let store: PageStore
    let allocator: PageAllocator
    let slots: ReaderSlots
    let pool = SnapshotPool()
    let reclaimer: Reclaimer

    init() throws {
      let file = try SimulatedDisk().open("/f", .createNew)
      store = try PageStore(file: file, pageSize: 512, cacheSize: 1 << 20, checksumSeed: 1, pageCount: 64)
      allocator = PageAllocator(pageSize: 512, pageCount: 64, free: [], checkpoint: 1, isProven: true)
      slots = ReaderSlots(pool.make(csn: CSN(0), trees: [], names: TreeNames([:])))
      reclaimer = Reclaimer(store: store, allocator: allocator, slots: slots, pool: pool)
    }

    func publish(_ csn: UInt64) {
      let old = slots.newest
      slots.publish(pool.make(csn: CSN(csn), trees: [], names: TreeNames([:])))
      reclaimer.retire(old)
    }

    func retire(_ pages: [SupersededPage], csn: UInt64) throws {
      try withWriterPermit { permit in reclaimer.retire(pages, csn: csn, permit) }
    }

    /// A frame as a transaction makes it.
    func makeFrame(birth: UInt64) throws -> SupersededPage {
      let slot = try store.pool.allocate()
      let page = PageBytes(slot)
      page.initialize(kind: .leaf, level: 0, keyKind: .int64, treeID: 1, birth: birth, pageSize: 512)
      let frame = try store.frames.allocate(slot: slot, birth: birth)
      return SupersededPage(reference: PageReference(frame: frame), birth: birth)
    }
  }

  @Test("A frame is freed exactly when it is due and nobody sees it (B2)")
  func frameIsFreedWhenNobodyNeedsIt() throws {
    for birth in 1...4 as ClosedRange<UInt64> {
      for death in birth + 1...6 {
        for published in 0...6 as ClosedRange<UInt64> {
          for readers in 0..<128 {
            let seen = (0...6 as ClosedRange<UInt64>).filter { readers >> Int($0) & 1 == 1 && $0 <= published }
            if seen.count != readers.nonzeroBitCount { continue }
            try check(birth: birth, death: death, published: published, seen: seen)
          }
        }
      }
    }
  }

  private func check(birth: UInt64, death: UInt64, published: UInt64, seen: [UInt64]) throws {
    let bench = try Bench()
    if published > 0 { bench.publish(published) }
    var slots = try seen.map { (csn: $0, slot: try bench.slots.announce(CSN($0))) }
    try bench.retire([try bench.makeFrame(birth: birth)], csn: death)
    bench.reclaimer.collect()
    // Readers leave one by one, and the rest of the commits is published at the end.
    while true {
      let isNeeded = slots.contains { $0.csn >= birth && $0.csn < death } || death > bench.slots.newest.csn.rawValue
      let used = bench.store.frames.usedCount
      try require(
        used == (isNeeded ? 1 : 0),
        "birth \(birth), death \(death), published \(bench.slots.newest.csn), readers \(slots.map(\.csn)): \(used)")
      if let last = slots.popLast() {
        bench.slots.end(last.slot)
      } else if death > bench.slots.newest.csn.rawValue {
        bench.publish(death)
      } else {
        break
      }
      bench.reclaimer.collect()
    }
    #expect(bench.store.pool.lentCount == 0 && bench.reclaimer.waitingCount == 0)
  }

  @Test("A snapshot that is announced after what it sees was collected is not taken for one that is held")
  func lateAnnouncement() throws {
    let bench = try Bench()
    bench.publish(1)
    let early = try bench.slots.announce(CSN(1))
    let page = try bench.makeFrame(birth: 1)
    try bench.retire([page], csn: 2)
    bench.publish(2)
    func heldSnapshots() -> [CSN] {
      let held = bench.reclaimer.announceHeld(below: CSN(3))
      for (slot, _) in held { bench.slots.end(slot) }
      return held.map(\.snapshot.csn)
    }
    #expect(heldSnapshots() == [CSN(1)], "nothing was collected since it was replaced")
    bench.reclaimer.collect()
    #expect(heldSnapshots() == [CSN(1)] && bench.store.frames.usedCount == 1, "its reader was found")
    bench.slots.end(early)
    bench.reclaimer.collect()
    #expect(bench.store.frames.usedCount == 0)
    // As a reader does that has loaded the newest number before all this, and looks again only after.
    let late = try bench.slots.announce(CSN(1))
    #expect(heldSnapshots().isEmpty, "the pages of a snapshot were collected")
    bench.reclaimer.collect()
    #expect(heldSnapshots().isEmpty, "a late announcement is believed at the second collection")
    bench.slots.end(late)
  }

  @Test(
    "Held is what every collection since its end has found", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: 1...8 as ClosedRange<UInt64>)
  func heldSnapshots(seed: UInt64) throws {
    let bench = try Bench()
    var random = SeededRandom(seed: seed)
    var readers: [(csn: UInt64, slot: ReaderSlot)] = []
    var (newest, collected): (UInt64, UInt64) = (0, 0)
    var intact: Set<UInt64> = []
    for step in 0..<600 {
      switch random.below(6) {
      case 0:
        newest += 1
        bench.publish(newest)
      case 1: readers.append((newest, try bench.slots.announce(CSN(newest))))
      case 2:
        // One that has loaded the number a while ago.
        let csn = newest - min(newest, UInt64(random.below(12)))
        readers.append((csn, try bench.slots.announce(CSN(csn))))
      case 3 where !readers.isEmpty: bench.slots.end(readers.remove(at: random.below(readers.count)).slot)
      case 4:
        bench.reclaimer.collect()
        intact = Set(readers.map(\.csn).filter { $0 < newest && ($0 >= collected || intact.contains($0)) })
        collected = newest
      default: break
      }
      let held = bench.reclaimer.announceHeld(below: CSN(newest))
      for (slot, _) in held { bench.slots.end(slot) }
      let expected = Set(readers.map(\.csn).filter { $0 < newest && ($0 >= collected || intact.contains($0)) })
      #expect(Set(held.map(\.snapshot.csn.rawValue)) == expected, "seed \(seed), step \(step)")
    }
    for reader in readers { bench.slots.end(reader.slot) }
    #expect(try withWriterPermit { permit in bench.reclaimer.checkInvariants(permit) } == nil)
  }

  @Test("What a reader has held goes in slices, and all of it in the end")
  func slices() throws {
    let bench = try Bench()
    bench.publish(1)
    let reader = try bench.slots.announce(CSN(1))
    let count = Reclaimer.sliceCount * 2 + 100
    for _ in 0..<count { _ = bench.allocator.allocateAhead(isCommitted: true) }
    bench.allocator.settleAhead(includingRunning: false)
    let places = (0..<UInt64(count)).map { SupersededPage(reference: PageReference(PageNumber(64 + $0)), birth: 1) }
    try bench.retire(places, csn: 2)
    bench.publish(2)
    bench.reclaimer.collect()
    #expect(bench.reclaimer.waitingCount == count, "a reader needs them")
    bench.slots.end(reader)
    let cache = FrameCache(bench.store)
    defer { cache.deallocate() }
    for expected in [Reclaimer.sliceCount + 100, 100, 0] {
      try withWriterPermit { permit in
        bench.reclaimer.collect(into: cache.freeFrames, permit)
        #expect(bench.reclaimer.waitingCount == expected)
        #expect(bench.reclaimer.checkInvariants(permit) == nil)
      }
    }
    try bench.retire(places.map { SupersededPage(reference: $0.reference, birth: 0) }, csn: 3)
    #expect(bench.reclaimer.waitingCount == 0, "a place is given up twice")
  }

  @Test("Commits between the slices of a checkpoint's end find the queue of entries in order")
  func entriesInOrder() throws {
    let bench = try Bench()
    bench.publish(1)
    let reader = try bench.slots.announce(CSN(1))
    for (round, csn) in zip(0..., [1, 2, 3] as [UInt64]) {
      bench.reclaimer.beginCheckpoint()
      for _ in 0..<50 {
        let page = try bench.makeFrame(birth: csn)
        let place = bench.allocator.allocate()
        try bench.store.grow(toPageCount: place.rawValue + 1)
        bench.reclaimer.flip(
          page.reference.frame, to: place, checksum: 0, image: bench.store.frames.location(page.reference.frame).slot,
          by: .checkpoint)
      }
      bench.reclaimer.finishCheckpoint(of: CSN(csn), oldSlots: [], isDone: true) { csn + UInt64(round % 2) }
      bench.publish(csn + 1)
      #expect(try withWriterPermit { permit in bench.reclaimer.checkInvariants(permit) } == nil)
    }
    bench.reclaimer.collect()
    bench.slots.end(reader)
    bench.reclaimer.collect()
    #expect(bench.reclaimer.waitingCount == 0 && bench.store.frames.usedCount > 0, "the last checkpoint's stay")
  }

  @Test("What a transaction made and replaced itself is freed at once")
  func ownFrameIsFreedAtOnce() throws {
    let bench = try Bench()
    let slot = try bench.slots.announce(CSN(0))
    try bench.retire([try bench.makeFrame(birth: 3)], csn: 3)
    #expect(bench.store.frames.usedCount == 0)
    bench.slots.end(slot)
  }

  @Test("A commit that fails takes its retirements back")
  func failedCommitTakesBack() throws {
    let bench = try Bench()
    try bench.retire([try bench.makeFrame(birth: 1)], csn: 2)
    try withWriterPermit { permit in bench.reclaimer.unretire(csn: 2, permit) }
    bench.publish(5)
    bench.reclaimer.collect()
    #expect(bench.store.frames.usedCount == 1)
  }

  @Test("Slots are found again, more than one block of them")
  func readerSlotsGrow() throws {
    let bench = try Bench()
    bench.publish(7)
    let held = try (0..<200).map { _ in try bench.slots.begin() }
    #expect(bench.slots.activeCount == 200)
    #expect(held.allSatisfy { $0.snapshot.csn == CSN(7) })
    #expect(bench.slots.announcedCSNs() == [7])
    let epoch = bench.slots.advanceEpoch()
    #expect(bench.slots.oldestEpoch() == epoch)
    for (index, reader) in held.enumerated() {
      if index % 2 == 0 { #expect(bench.slots.enterEpoch(reader.slot)) } else { bench.slots.exitEpoch(reader.slot) }
    }
    #expect(bench.slots.oldestEpoch() == epoch + 1)
    for reader in held { bench.slots.end(reader.slot) }
    #expect(bench.slots.activeCount == 0 && bench.slots.oldestEpoch() == .max)
  }
}
