// The tables below the trees: frames, slots, places, bits.

import QuireTesting
import Testing

@testable import QuireStorage

@Suite struct PageStructureTests {
  @Test func pageBitsAgreeWithASet() {
    var random = SeededRandom(seed: 7)
    var (bits, set) = (PageBits(), Set<UInt64>())
    for _ in 0..<3000 {
      let number = UInt64(random.below(700))
      let isIn = random.oneIn(2)
      bits[number] = isIn
      if isIn { set.insert(number) } else { set.remove(number) }
    }
    #expect(bits.count == set.count)
    for number in 0..<1000 as Range<UInt64> {
      #expect(bits[number] == set.contains(number))
      #expect(bits.first(from: number) == set.filter { $0 >= number }.min())
    }
  }

  @Test func placesHaveOneStatusEach() {
    var random = SeededRandom(seed: 9)
    var (table, statuses, held) = (PlaceTable(), [UInt64: PlaceStatus](), Set<UInt64>())
    for _ in 0..<5000 {
      let number = UInt64(random.below(700))
      if random.oneIn(4) {
        let isHeld = random.oneIn(2)
        table.setHeld(number, isHeld)
        if isHeld { held.insert(number) } else { held.remove(number) }
      } else {
        let status = random.pick(PlaceStatus.allCases)
        table[number] = status
        statuses[number] = status
      }
    }
    let usable = statuses.filter { $0.value == .free && !held.contains($0.key) }.keys
    for number in 0..<1000 as Range<UInt64> {
      #expect(table[number] == statuses[number, default: .used])
      #expect(table.isHeld(number) == held.contains(number))
      #expect(table.firstUsable(from: number) == usable.filter { $0 >= number }.min())
    }
    #expect(table.usableCount == usable.count && table.heldCount == held.count)
    let inUse: Set<PlaceStatus> = [.used, .aheadOfCommit, .aheadOfCheckpoint]
    #expect(table.unreachedCount == statuses.values.filter { !inUse.contains($0) }.count)
    for status in PlaceStatus.allCases where status != .used {
      let expected = statuses.filter { $0.value == status }.keys.sorted()
      #expect(table.places(status) == expected)
      #expect(table.places(status, from: 65, below: 130) == expected.filter { (65..<130).contains($0) })
    }
    for count in 1...4 {
      let run = (0..<700 as Range<UInt64>).first { start in
        (start..<start + UInt64(count)).allSatisfy { usable.contains($0) }
      }
      #expect(table.firstUsableRun(of: count, from: 0) == run)
    }
  }

  @Test func sparseTableKeepsItsEntriesWhileItGrows() throws {
    let table = try SparseTable(entryByteCount: 8, chunkShift: 4, maximumCount: 1 << 20)
    defer { table.release() }
    var addresses: [UnsafeMutableRawPointer] = []
    for count in 1...200 {
      try table.grow(to: count)
      let entry = table.entry(count - 1)
      #expect(entry.load(as: UInt64.self) == 0)
      entry.storeBytes(of: UInt64(count), as: UInt64.self)
      addresses.append(entry)
    }
    for (index, address) in addresses.enumerated() {
      #expect(table.entry(index) == address && address.load(as: UInt64.self) == UInt64(index + 1))
    }
  }

  @Test(arguments: [512, 4096, 32768])
  func slotsAreLentToOneOwnerEach(pageSize: Int) throws {
    let pool = SlotPool(pageSize: pageSize, cacheSize: 1 << 20)
    var random = SeededRandom(seed: 8)
    var lent: [UnsafeMutableRawPointer] = []
    for step in 0..<2000 {
      if lent.isEmpty || random.below(5) < 3 {
        let slot = try pool.allocate()
        slot.storeBytes(of: UInt(bitPattern: slot), as: UInt.self)
        lent.append(slot)
      } else {
        let slot = lent.remove(at: random.below(lent.count))
        #expect(slot.load(as: UInt.self) == UInt(bitPattern: slot), "somebody else wrote into a slot")
        pool.release(slot)
      }
      if step % 100 == 0 { #expect(pool.checkInvariants() == nil) }
    }
    #expect(pool.lentCount == lent.count && Set(lent).count == lent.count)
    for slot in lent { pool.release(slot) }
    #expect(pool.checkInvariants() == nil && pool.lentCount == 0)
  }

  @Test func framesFlipOnceAndAreRecycled() throws {
    let (table, pool) = (try FrameTable(), SlotPool(pageSize: 512, cacheSize: 1 << 20))
    let slots = try (0..<100).map { _ in try pool.allocate() }
    let frames = try slots.enumerated().map { index, slot in
      try table.allocate(slot: slot, birth: UInt64(index))
    }
    #expect(Set(frames).count == 100 && table.dirtyCount == 100 && table.usedCount == 100)
    for (index, frame) in frames.enumerated() {
      #expect(table.location(frame).slot == slots[index] && table.birth(frame) == UInt64(index))
      if index % 2 == 0 { table.flip(frame, to: PageNumber(UInt64(index) + 2), checksum: UInt64(index) * 7) }
    }
    #expect(table.dirtyCount == 50)
    for (index, frame) in frames.enumerated() where index % 2 == 0 {
      #expect(table.location(frame).pageNumber == PageNumber(UInt64(index) + 2))
      #expect(table.checksum(frame) == UInt64(index) * 7)
    }
    for frame in frames { table.release(frame) }
    #expect(table.dirtyCount == 0 && table.usedCount == 0 && table.checkInvariants() == nil)
    let again = try table.allocate(slot: slots[0], birth: 1)
    #expect(frames.contains(again), "an index is recycled")
  }

  @Test("A place is given out again only when its checkpoint is proven and no reader needs it (A6, C6)")
  func placesWaitForProofAndReaders() {
    let allocator = PageAllocator(pageSize: 512, pageCount: 10, free: [4, 5], checkpoint: 1, isProven: true)
    #expect(allocator.allocate() == PageNumber(4) && allocator.allocate() == PageNumber(5))
    #expect(allocator.allocate() == PageNumber(10), "then the file grows")
    allocator.supersede(PageNumber(7), csn: 3)
    allocator.supersede(PageNumber(8), csn: 9)
    allocator.applySuperseded(upTo: 5)
    #expect(allocator.freeNumbers() == [7], "the map of this checkpoint")
    allocator.finishCheckpoint(2)
    allocator.rewind()
    #expect(allocator.allocate() == PageNumber(11), "checkpoint 2 is not proven")
    allocator.prove(2)
    allocator.rewind()
    #expect(allocator.allocate() == PageNumber(12), "a reader holds it")
    allocator.release(PageNumber(7))
    allocator.rewind()
    #expect(allocator.allocate() == PageNumber(7))
    #expect(allocator.checkInvariants() == nil)
  }

  @Test("Each piece of the map is written anew in which a commit has given places up")
  func piecesOfFreedPlaces() {
    let allocator = PageAllocator(pageSize: 512, pageCount: 20_000, free: [], checkpoint: 1, isProven: true)
    let bitsPerPiece = UInt64(allocator.bitsPerPiece)
    for piece in [0, 0, 1, 3, 3] as [UInt64] {
      let place = PageNumber(piece * bitsPerPiece + 10 + UInt64(allocator.supersededCount))
      #expect(allocator.supersede(place, csn: 3))
    }
    allocator.supersede(PageNumber(2 * bitsPerPiece), csn: 4)
    #expect(allocator.dirtyPieces.isEmpty)
    allocator.applySuperseded(upTo: 3)
    #expect(allocator.dirtyPieces == [0, 1, 3])
    allocator.applySuperseded(upTo: 4)
    #expect(allocator.dirtyPieces == [0, 1, 2, 3])
  }

  @Test("A checkpoint that was not known durable gives out nothing that its predecessor needs (A6)")
  func unprovenMapGivesNothingOut() {
    let allocator = PageAllocator(pageSize: 512, pageCount: 10, free: [4, 5], checkpoint: 3, isProven: false)
    #expect(allocator.allocate() == PageNumber(10))
    allocator.prove(2)
    #expect(allocator.allocate() == PageNumber(11))
    allocator.prove(3)
    allocator.rewind()
    #expect(allocator.allocate() == PageNumber(4))
  }

  @Test("What is written ahead of a checkpoint is free in the maps before it, and given to nobody else (C5)")
  func placesWrittenAhead() throws {
    let allocator = PageAllocator(
      pageSize: 512, pageCount: 20, free: [4, 5, 8, 9, 10, 15], checkpoint: 1, isProven: true)
    #expect(allocator.allocateAhead(3, isCommitted: false) == PageNumber(8), "the first run that is long enough")
    #expect(allocator.allocateAhead(4, isCommitted: true) == PageNumber(20), "no run is: the file grows")
    #expect(allocator.freeNumbers() == [4, 5, 8, 9, 10, 15, 20, 21, 22, 23] && allocator.checkInvariants() == nil)
    #expect(allocator.allocate() == PageNumber(4))
    allocator.settleAhead(includingRunning: false)
    #expect(allocator.freeNumbers() == [5, 8, 9, 10, 15], "the committed ones are in the map now")
    allocator.discard(PageNumber(9))
    #expect(allocator.allocateAhead(isCommitted: false) == PageNumber(5))
    #expect(allocator.allocateAhead(isCommitted: false) == PageNumber(9), "given back, given out again")
    try withWriterPermit { permit in allocator.commitAhead(permit) }
    allocator.settleAhead(includingRunning: false)
    #expect(allocator.freeNumbers() == [15] && allocator.checkInvariants() == nil)
    #expect(allocator.allocateAhead(2, isCommitted: false) == PageNumber(24))
    allocator.settleAhead(includingRunning: true)
    #expect(allocator.freeNumbers() == [15])
    allocator.discard(PageNumber(24), count: 2)
    allocator.trim()
    #expect(allocator.freeNumbers() == [15] && allocator.pageCount == 24, "a failed commit: the file ends earlier")
    #expect(allocator.checkInvariants() == nil)
  }

  @Test("A file ends where the newest map says or behind the last place given out, whatever was given back")
  func endOfTheFile() {
    let allocator = PageAllocator(pageSize: 512, pageCount: 20, free: [4, 5], checkpoint: 1, isProven: true)
    #expect(allocator.allocateAhead(3, isCommitted: false) == PageNumber(20))
    #expect(allocator.freezeMap(planned: [0], pageCount: 23) && allocator.mapPageCount == 23)
    allocator.discard(PageNumber(20), count: 3)
    #expect(allocator.pageCount == 23, "the map under way speaks for the pages")
    allocator.abandonMap()
    allocator.trim()
    #expect(allocator.pageCount == 20 && allocator.freeNumbers() == [4, 5], "there is no such map any more")
    #expect(allocator.freezeMap(planned: [0], pageCount: 20))
    allocator.finishCheckpoint(2)
    #expect(allocator.allocateAhead(3, isCommitted: false) == PageNumber(20))
    allocator.discard(PageNumber(20), count: 3)
    allocator.trim()
    #expect(allocator.pageCount == 20 && allocator.checkInvariants() == nil)
  }
}
