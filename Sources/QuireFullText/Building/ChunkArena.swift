// Memory for many lists of bytes that grow side by side.

/// Lists of bytes that grow side by side, each in a chain of chunks, in one stretch of memory.
///
/// A chunk begins with four bytes for the offset of the one behind it, which count only if the list goes on there. The
/// first chunk of a list is small; each one after it is twice as large, up to a limit. Offsets stay good when the
/// memory grows.
@safe final class ChunkArena {
  /// Where a list lies; it has nothing yet if `first` is 0.
  struct List {
    /// Where the first and the last chunk begin.
    fileprivate(set) var first: UInt32 = 0
    fileprivate var last: UInt32 = 0
    /// Where the next byte goes, and where the last chunk ends.
    fileprivate var next: UInt32 = 0
    fileprivate var end: UInt32 = 0
  }

  private static let linkCount: UInt32 = 4
  private static let smallestChunk: UInt32 = 16
  private static let largestChunk: UInt32 = 2_048

  private var base: UnsafeMutableRawPointer
  @exclusivity(unchecked) private var capacity: Int
  /// The bytes that are used. Those in front are not, so that no list begins at 0.
  @exclusivity(unchecked) private(set) var byteCount = 8

  /// - Parameter capacity: the bytes that it takes before it has to move. What is not used yet costs addresses alone.
  init(capacity: Int) {
    unsafe self.capacity = max(capacity, 1 << 16)
    unsafe base = .allocate(byteCount: self.capacity, alignment: 16)
  }

  deinit { unsafe base.deallocate() }

  /// Forgets all lists and bytes, and keeps the memory.
  func removeAll() { unsafe byteCount = 8 }

  /// Makes room for `count` bytes more; false if offsets do not reach so far.
  private func reserve(_ count: Int) -> Bool {
    if unsafe byteCount + count <= capacity { return true }
    guard unsafe byteCount + count < Int(UInt32.max) else { return false }
    let larger = unsafe max(byteCount + count, capacity + capacity / 2)
    let grown = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 16)
    unsafe grown.copyMemory(from: base, byteCount: byteCount)
    unsafe base.deallocate()
    unsafe (base, capacity) = unsafe (grown, larger)
    return true
  }

  // MARK: Bytes of no list

  /// Puts bytes that belong to no list; nil if there is no room.
  func put(_ bytes: UnsafeRawBufferPointer) -> UInt32? {
    guard let source = bytes.baseAddress, reserve(bytes.count) else { return nil }
    let offset = unsafe byteCount
    unsafe (base + offset).copyMemory(from: source, byteCount: bytes.count)
    unsafe byteCount += bytes.count
    return UInt32(offset)
  }

  /// The `count` bytes at an offset, good until something is put or appended.
  @inline(__always) func bytes(_ offset: UInt32, _ count: Int) -> UnsafeRawBufferPointer {
    unsafe assert(Int(offset) + count <= byteCount, "bytes are read that the arena does not have")
    return unsafe UnsafeRawBufferPointer(start: base + Int(offset), count: count)
  }

  /// A byte at an offset, to have its surroundings at hand.
  @inline(__always) func byte(_ offset: UInt32) -> UInt8 {
    unsafe base.load(fromByteOffset: Int(offset), as: UInt8.self)
  }

  // MARK: Lists

  /// Appends bytes to a list; false if there is no room.
  @inline(__always) func append(_ bytes: UnsafeRawBufferPointer, to list: inout List) -> Bool {
    let count = UInt32(truncatingIfNeeded: bytes.count)
    guard list.end &- list.next >= count, let source = bytes.baseAddress else {
      return unsafe appendInParts(bytes, to: &list)
    }
    unsafe (base + Int(list.next)).copyMemory(from: source, byteCount: Int(count))
    list.next &+= count
    return true
  }

  /// Appends the lowest `count` bytes of a word, eight at the most, the lowest first; false if there is no room.
  @inline(__always) func append(_ word: UInt64, _ count: Int, to list: inout List) -> Bool {
    guard list.end &- list.next >= 8 else { return appendInParts(word, count, to: &list) }
    unsafe (base + Int(list.next)).storeBytes(of: word.littleEndian, as: UInt64.self)
    list.next &+= UInt32(truncatingIfNeeded: count)
    return true
  }

  @inline(never) private func appendInParts(_ word: UInt64, _ count: Int, to list: inout List) -> Bool {
    var rest = word
    for _ in 0..<count {
      if list.next == list.end, !grow(&list) { return false }
      unsafe (base + Int(list.next)).storeBytes(of: UInt8(truncatingIfNeeded: rest), as: UInt8.self)
      list.next += 1
      rest >>= 8
    }
    return true
  }

  @inline(never) private func appendInParts(_ bytes: UnsafeRawBufferPointer, to list: inout List) -> Bool {
    var done = 0
    while let source = bytes.baseAddress, done < bytes.count {
      if list.next == list.end, !grow(&list) { return false }
      let count = min(bytes.count - done, Int(list.end - list.next))
      unsafe (base + Int(list.next)).copyMemory(from: source + done, byteCount: count)
      list.next += UInt32(count)
      done += count
    }
    return true
  }

  /// Gives a list another chunk.
  private func grow(_ list: inout List) -> Bool {
    let isFirst = list.first == 0
    let size = isFirst ? Self.smallestChunk : min(2 * (list.end - list.last), Self.largestChunk)
    guard reserve(Int(size)) else { return false }
    let start = unsafe UInt32(byteCount)
    unsafe byteCount += Int(size)
    if isFirst {
      list.first = start
    } else {
      unsafe base.storeBytes(of: start, toByteOffset: Int(list.last), as: UInt32.self)
    }
    list.last = start
    (list.next, list.end) = (start + Self.linkCount, start + size)
    return true
  }

  /// A walk through the parts of a list.
  struct Walk {
    fileprivate var start: UInt32
    fileprivate var size: UInt32
    fileprivate let list: List
  }

  func walk(_ list: List) -> Walk { Walk(start: list.first, size: Self.smallestChunk, list: list) }

  /// The next part of a list, good until something is put or appended; nil behind the last one.
  func next(_ walk: inout Walk) -> UnsafeRawBufferPointer? {
    guard walk.start != 0 else { return nil }
    let first = walk.start + Self.linkCount
    if walk.start == walk.list.last {
      walk.start = 0
      return unsafe bytes(first, Int(walk.list.next - first))
    }
    let part = unsafe bytes(first, Int(walk.size - Self.linkCount))
    walk.start = unsafe base.loadUnaligned(fromByteOffset: Int(walk.start), as: UInt32.self)
    walk.size = min(2 * walk.size, Self.largestChunk)
    return unsafe part
  }
}
