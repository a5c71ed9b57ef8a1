// Lists that may become as long as a transaction, and must not take more memory than they have elements.

internal import Synchronization

/// A list of plain values in memory of its own.
///
/// An array that grows is copied into a block of twice the size, and the heap keeps the old block: after a transaction
/// of several times the cache, what the heap kept of such lists was more than what they held. Here, a list that has
/// outgrown a small block gets chunks, none of which is ever copied, and which go back to the system one by one.
///
/// Used by one thread at a time. Adding and removing at either end is O(1), as is an access by index.
///
/// Invariants:
/// 1. The elements are those from `head` to `end`, counted from the first of `chunks`; `room` is where that counting
///    ends.
/// 2. All chunks have `chunkCapacity` elements, but for a single one from the heap, which has `room`.
package final class ChunkedList<Element: BitwiseCopyable>: @unchecked Sendable {
  // Sendable: safe because an owner touches it under its own lock, or from one thread at a time.
  @exclusivity(unchecked) private var chunks: [UnsafeMutablePointer<Element>] = []
  @exclusivity(unchecked) private var head = 0
  @exclusivity(unchecked) private var end = 0
  @exclusivity(unchecked) private var room = 0
  /// Whether the only chunk is a small one from the heap.
  private var isSmall = false

  /// A power of two.
  private static var chunkShift: Int {
    let most = ListChunk.byteCount / MemoryLayout<Element>.stride
    return Int.bitWidth - 1 - most.leadingZeroBitCount
  }
  private static var chunkCapacity: Int { 1 << chunkShift }
  /// Where a list begins: what most transactions need.
  private static var smallestCapacity: Int { 16 }
  /// A block of the heap that would have to be longer than this becomes a chunk.
  private static var largestHeapCapacity: Int { chunkCapacity / 4 }

  /// An empty list, without memory.
  package init() {}

  deinit { removeAll() }

  /// The number of elements.
  @inline(__always) package var count: Int { end &- head }
  /// Whether there is no element.
  @inline(__always) package var isEmpty: Bool { end == head }
  /// What the list takes.
  package var byteCount: Int { room * MemoryLayout<Element>.stride }

  @inline(__always) private func address(_ place: Int) -> UnsafeMutablePointer<Element> {
    assert(place >= 0 && place < room, "an element lies outside the list's memory")
    return chunks[place &>> Self.chunkShift] + (place & (Self.chunkCapacity &- 1))
  }

  /// The element at `index`, which must be below `count`.
  @inline(__always) package subscript(_ index: Int) -> Element {
    get { address(head &+ index).pointee }
    set { address(head &+ index).pointee = newValue }
  }

  /// Adds an element behind the others.
  @inline(__always) package func append(_ element: Element) {
    if end == room { grow() }
    address(end).initialize(to: element)
    end &+= 1
  }

  @inline(never) private func grow() {
    if chunks.isEmpty {
      chunks.append(UnsafeMutablePointer.allocate(capacity: Self.smallestCapacity))
      (room, isSmall) = (Self.smallestCapacity, true)
      return
    }
    guard isSmall else {
      chunks.append(Self.makeChunk())
      room += Self.chunkCapacity
      return
    }
    let becomesChunk = 2 * room > Self.largestHeapCapacity
    let larger = becomesChunk ? Self.makeChunk() : UnsafeMutablePointer.allocate(capacity: 2 * room)
    assert(chunks.count == 1 && head <= end, "a small list has one chunk")
    larger.update(from: chunks[0], count: end)
    chunks[0].deallocate()
    chunks[0] = larger
    (room, isSmall) = (becomesChunk ? Self.chunkCapacity : 2 * room, !becomesChunk)
  }

  private static func makeChunk() -> UnsafeMutablePointer<Element> {
    ListChunk.take().bindMemory(to: Element.self, capacity: chunkCapacity)
  }

  // MARK: Removing

  /// Takes out the elements at the front of which `isDue` says so, `limit` at the most, in order, and hands each to
  /// `take`. Neither may look at the list. Returns how many there were.
  @discardableResult @inline(__always) package func removeFirst(
    _ limit: Int = .max, while isDue: (Element) -> Bool = { _ in true }, _ take: (Element) -> Void
  ) -> Int {
    assert(limit >= 0, "less than nothing is taken out")
    let count = count
    var left = limit < count ? limit : count
    var place = head
    while left > 0 {
      let element = address(place).pointee
      guard isDue(element) else { break }
      place &+= 1
      left &-= 1
      take(element)
      // Memory goes back by chunks, not at the end of a long list.
      if place &- head >= Self.chunkCapacity {
        removeFirst(upTo: place)
        place = head
      }
    }
    if place != head { removeFirst(upTo: place) }
    return count &- self.count
  }

  @inline(never) private func removeFirst(upTo place: Int) {
    assert(place > head && place <= end, "a list becomes shorter by removing its first elements")
    head = place
    if head == end { return removeAll(keepingFirstChunk: true) }
    // Chunks are few: one for thousands of elements.
    while head >= Self.chunkCapacity {
      ListChunk.giveBack(chunks.removeFirst())
      head -= Self.chunkCapacity
      assert(room >= Self.chunkCapacity && end >= Self.chunkCapacity, "a chunk is given back that is in use")
      end -= Self.chunkCapacity
      room -= Self.chunkCapacity
    }
  }

  /// Takes the last element out, if there is one.
  package func popLast() -> Element? {
    guard !isEmpty else { return nil }
    let element = self[count - 1]
    truncate(to: count - 1)
    return element
  }

  /// Removes all elements from `count` on.
  package func truncate(to count: Int) {
    assert(count >= 0 && count <= self.count, "a list becomes shorter by truncation")
    end = head + count
    if isSmall { return }
    // One chunk more than are needed is kept, for a list that grows and shrinks around the end of one.
    while room - end >= 2 * Self.chunkCapacity, let chunk = chunks.popLast() {
      ListChunk.giveBack(chunk)
      room -= Self.chunkCapacity
    }
  }

  /// Removes the elements of which `isGone` says so; each is asked for once, in order.
  package func removeAll(where isGone: (Element) -> Bool) {
    var kept = 0
    for index in 0..<count {
      let element = self[index]
      if isGone(element) { continue }
      self[kept] = element
      kept += 1
    }
    truncate(to: kept)
  }

  /// Removes all elements, and gives the memory back: all of it, or all but the first chunk.
  @inline(__always) package func removeAll(keepingFirstChunk: Bool = false) {
    (head, end) = (0, 0)
    // Nearly always: there is no second one.
    if keepingFirstChunk, room <= Self.chunkCapacity { return }
    giveBackChunks(from: keepingFirstChunk ? 1 : 0)
  }

  @inline(never) private func giveBackChunks(from kept: Int) {
    while chunks.count > kept, let chunk = chunks.popLast() {
      if isSmall { chunk.deallocate() } else { ListChunk.giveBack(chunk) }
    }
    if chunks.isEmpty {
      (room, isSmall) = (0, false)
    } else if !isSmall {
      room = Self.chunkCapacity
    }
  }
}

extension ChunkedList: Sequence {
  /// Goes through the elements; the list must stay as it is meanwhile.
  package struct Iterator: IteratorProtocol, Sequence {
    fileprivate let list: ChunkedList
    fileprivate var index: Int

    package mutating func next() -> Element? {
      guard index < list.count else { return nil }
      defer { index &+= 1 }
      return list[index]
    }
  }

  package func makeIterator() -> Iterator { Iterator(list: self, index: 0) }

  /// The elements from `index` on.
  package func from(_ index: Int) -> Iterator { Iterator(list: self, index: index) }
}

/// The memory of chunks: straight from the system, a few kept for the next list that needs one.
enum ListChunk {
  /// The length of a chunk.
  static let byteCount = 64 << 10
  private static let keptCount = 8
  private static let spare = Latch<[UInt]>([])

  /// A chunk with whatever its last owner left in it.
  static func take() -> UnsafeMutableRawPointer {
    if let address = spare.withLock({ $0.popLast() }), let chunk = UnsafeMutableRawPointer(bitPattern: address) {
      return chunk
    }
    do throws(StorageError) { return try VirtualMemory.reserve(byteCount: byteCount).base } catch {
      // As when an array finds none: nobody could go on without the element.
      preconditionFailure("the system has no memory left for a list of pages")
    }
  }

  /// Takes a chunk back.
  static func giveBack(_ chunk: UnsafeMutableRawPointer) {
    let address = UInt(bitPattern: chunk)
    let isKept = spare.withLock { spare -> Bool in
      if spare.count >= keptCount { return false }
      spare.append(address)
      return true
    }
    if !isKept { VirtualMemory(base: chunk, byteCount: byteCount).release() }
  }
}
