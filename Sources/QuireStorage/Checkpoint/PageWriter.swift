// Writing dirty pages home: children before parents, in key order, in long runs.

/// Writes the dirty pages of trees to unused places of the data file.
///
/// Works in steps of one buffer, so that a checkpoint can be stepped, stopped and killed between any two writes. A page
/// is flipped to its place only when its bytes have been handed to the system: nobody ever reads a place that has not
/// been written.
///
/// A checkpoint is not the only one to write: when memory is short, the pages of the running transaction and those that
/// only readers of old snapshots need are written home early.
///
/// Invariants:
/// 1. `buffer` holds the images of `pending`, whose places are consecutive.
/// 2. A frame is flipped at most once, after all dirty pages below it.
final class PageWriter {
  /// A page whose image waits in the buffer.
  private struct Pending {
    let frame: FrameIndex
    let number: PageNumber
    let checksum: UInt64
    /// The slot that becomes the page's home in memory: the frame's own, or a branch's translated image.
    let image: UnsafeMutableRawPointer
    /// The frame's slot, if an image took its place.
    let oldSlot: UInt
  }

  /// A page on the way down, and the child to look at next.
  private struct Visit {
    let frame: FrameIndex
    let page: PageBytes
    var child: Int
  }

  private let store: PageStore
  private let allocator: PageAllocator
  private let reclaimer: Reclaimer
  private let flipper: Reclaimer.Flipper
  private let pageSize: Int
  private let buffer: UnsafeMutableRawPointer
  private let bufferPages: Int
  // Unchecked as in `TreeEditor`: every page that is written goes through here several times.
  @exclusivity(unchecked) private var pending: [Pending] = []
  /// Places and checksums of pending pages, for the parents that are encoded before the flip.
  @exclusivity(unchecked) private var placed: [UInt32: (number: PageNumber, checksum: UInt64)] = [:]
  @exclusivity(unchecked) private var visits: [Visit] = []
  /// A place that did not continue the run in the buffer and starts the next one.
  @exclusivity(unchecked) private var reserved: PageNumber?
  /// Slots of branches that images took the place of.
  @exclusivity(unchecked) private(set) var oldSlots: [UInt] = []
  @exclusivity(unchecked) private(set) var pagesWritten = 0

  private var starter: WriteStarter

  /// How much is written in one call.
  static let bufferByteCount = 512 << 10
  /// After how much the disk is asked to begin: the pages of a smaller checkpoint are a matter of milliseconds, and the
  /// sync at the end writes them in the order of their places.
  private static let startByteCount = 8 << 20

  init(
    store: PageStore, allocator: PageAllocator, reclaimer: Reclaimer, for flipper: Reclaimer.Flipper = .checkpoint,
    startsWriting: Bool = true
  ) {
    starter = WriteStarter(startByteCount: startsWriting ? Self.startByteCount : .max)
    self.flipper = flipper
    self.store = store
    self.allocator = allocator
    self.reclaimer = reclaimer
    pageSize = store.pageSize
    // Small files, such as those of tests, are written in small steps.
    let pageCount = max(Int(allocator.pageCount), store.frames.dirtyCount)
    bufferPages = max(1, min(Self.bufferByteCount / pageSize, pageCount / 16 + 8))
    buffer = UnsafeMutableRawPointer.allocate(byteCount: bufferPages * pageSize, alignment: 4096)
  }

  deinit { buffer.deallocate() }

  /// Starts with the tree at `reference`; the one before has been written.
  func begin(_ reference: PageReference) {
    precondition(visits.isEmpty)
    guard reference.isDirty else { return }
    let location = store.frames.location(reference.frame)
    if !location.isPageNumber { visit(reference.frame, location) }
  }

  /// Writes everything dirty below `reference`, down to the last page: another version of the tree may share pages with
  /// this one, and must find them written.
  func writeAll(_ reference: PageReference) throws(StorageError) {
    begin(reference)
    while try step() {}
    try flush()
  }

  private func visit(_ frame: FrameIndex, _ location: FrameLocation) {
    assert(!location.isPageNumber, "a page is visited that has been written")
    assert(visits.count < Limits.treeLevels, "a path is longer than the deepest tree")
    visits.append(Visit(frame: frame, page: PageBytes(location.slot), child: 0))
  }

  /// Encodes pages until the buffer is full, and writes it; false when the tree is done.
  ///
  /// - Throws: `diskFull`, `inputOutput`: pages written so far stay written, those of this buffer stay dirty.
  func step() throws(StorageError) -> Bool {
    while let visit = visits.last {
      if let child = nextDirtyChild(of: visit) {
        visits[visits.count - 1].child = child.index + 1
        self.visit(child.frame, child.location)
        continue
      }
      guard try encode(visit) else {
        try flush()
        return true
      }
      visits.removeLast()
    }
    return false
  }

  private func nextDirtyChild(of visit: Visit) -> (index: Int, frame: FrameIndex, location: FrameLocation)? {
    guard visit.page.level > 0 else { return nil }
    let references = visit.page.references
    for index in visit.child..<visit.page.count {
      let reference = PageReference(rawValue: references[index])
      guard reference.isDirty else { continue }
      let location = store.frames.location(reference.frame)
      if !location.isPageNumber { return (index, reference.frame, location) }
    }
    return nil
  }

  /// Puts a page's image into the buffer; false if it has no room or the place does not continue the run.
  private func encode(_ visit: Visit) throws(StorageError) -> Bool {
    guard pending.count < bufferPages else { return false }
    var image = visit.page
    var oldSlot: UInt = 0
    if visit.page.level > 0 {
      let slot = try store.allocateSlot()
      slot.copyMemory(from: visit.page.base, byteCount: pageSize)
      image = PageBytes(slot)
      translate(image)
      oldSlot = UInt(bitPattern: visit.page.base)
    }
    let number = reserved ?? allocate(for: image)
    reserved = number
    do throws(StorageError) {
      try store.grow(toPageCount: number.rawValue + 1)
      // Only a free map that lies, or a page that two trees share, leads here: writing would destroy what is in use.
      guard !store.isResident(number) else {
        throw store.damaged(PageReference(number), "the free map calls it free, but it is in use")
      }
    } catch {
      if oldSlot != 0 { store.pool.release(image.base) }
      throw error
    }
    if let last = pending.last, number.rawValue != last.number.rawValue + 1 {
      if oldSlot != 0 { store.pool.release(image.base) }
      return false
    }
    assert(pending.isEmpty || pending[pending.count - 1].number.rawValue + 1 == number.rawValue, "a run has a gap")
    assert(placed[visit.frame.rawValue] == nil, "a page is written twice")
    reserved = nil
    let target = PageBytes(buffer + pending.count * pageSize)
    image.copyImage(to: target, pageSize: pageSize)
    target.pageNumber = number.rawValue
    let checksum = PageChecksum.compute(target, pageSize: pageSize, seed: store.checksumSeed)
    target.checksum = checksum
    placed[visit.frame.rawValue] = (number, checksum)
    pending.append(
      Pending(frame: visit.frame, number: number, checksum: checksum, image: image.base, oldSlot: oldSlot))
    return true
  }

  private func allocate(for page: PageBytes) -> PageNumber {
    switch flipper {
    case .checkpoint: allocator.allocate()
    case .spill(let csn): allocator.allocateAhead(isCommitted: page.birth != csn)
    case .heldPages: allocator.allocateLent()
    }
  }

  /// Gives a branch's image the places of its children.
  private func translate(_ page: PageBytes) {
    let (references, checksums) = (page.references, page.checksums)
    for index in 0..<page.count {
      let reference = PageReference(rawValue: references[index])
      guard reference.isDirty else { continue }
      if let place = placed[reference.frame.rawValue] {
        references[index] = place.number.rawValue
        checksums[index] = place.checksum
      } else {
        let location = store.frames.location(reference.frame)
        precondition(location.isPageNumber, "a branch page is written after its children")
        assert(mayStand(at: location.pageNumber), "a page in use stands where no map knows of it")
        references[index] = location.pageNumber.rawValue
        checksums[index] = store.frames.checksum(reference.frame)
      }
    }
  }

  /// Whether a page that this reaches may be there: only readers of old snapshots see pages at places that are lent.
  private func mayStand(at number: PageNumber) -> Bool {
    if case .heldPages = flipper { return true }
    return !allocator.isLent(number)
  }

  /// Writes the buffer and flips its pages.
  func flush() throws(StorageError) {
    guard let first = pending.first else { return }
    do throws(StorageError) {
      try store.file.writeFully(
        UnsafeRawBufferPointer(start: buffer, count: pending.count * pageSize),
        at: Int(first.number.rawValue) * pageSize)
    } catch {
      abandon()
      throw error
    }
    assert(pending.count <= bufferPages, "more is written than the buffer holds")
    store.noteWritten(pending.count * pageSize)
    let offset = Int(first.number.rawValue) * pageSize
    starter.note(offset..<(offset + pending.count * pageSize), of: store.file)
    for page in pending {
      reclaimer.flip(page.frame, to: page.number, checksum: page.checksum, image: page.image, by: flipper)
      if page.oldSlot != 0 { oldSlots.append(page.oldSlot) }
    }
    pagesWritten += pending.count
    pending.removeAll(keepingCapacity: true)
    placed.removeAll(keepingCapacity: true)
  }

  /// Gives up what is in the buffer: its pages stay dirty. Done by itself when a write fails.
  func abandon() {
    if let reserved { allocator.discard(reserved) }
    reserved = nil
    for page in pending {
      allocator.discard(page.number)
      if page.oldSlot != 0 { store.pool.release(page.image) }
    }
    pending.removeAll()
    placed.removeAll()
    visits.removeAll()
  }
}
