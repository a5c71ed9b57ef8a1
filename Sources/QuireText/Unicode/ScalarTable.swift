// A number for each scalar, in two stages.

/// A number for each scalar: a block for each 128 of them, where blocks with one number throughout are shared.
///
/// What is looked up is never changed or freed, so that every thread may look it up at any time.
@safe struct ScalarTable<Value: FixedWidthInteger & BitwiseCopyable & Sendable>: @unchecked Sendable {
  // This is safe because the memory is written in `init` alone, and never freed.
  private let blocks: UnsafePointer<UInt16>
  private let values: UnsafePointer<Value>
  /// The number of bytes that it takes.
  let byteCount: Int

  fileprivate static var blockCount: Int { 0x11_0000 >> 7 }

  /// Copies what was put together, into memory that stays.
  init(_ builder: ScalarTableBuilder<Value>) {
    let blocks = UnsafeMutablePointer<UInt16>.allocate(capacity: builder.blocks.count)
    let values = UnsafeMutablePointer<Value>.allocate(capacity: builder.values.count)
    for (index, block) in builder.blocks.enumerated() { unsafe blocks[index] = block }
    for (index, value) in builder.values.enumerated() { unsafe values[index] = value }
    unsafe (self.blocks, self.values) = unsafe (UnsafePointer(blocks), UnsafePointer(values))
    byteCount = builder.blocks.count * 2 + builder.values.count * MemoryLayout<Value>.size
  }

  @inline(__always) subscript(scalar: UInt32) -> Value {
    assert(scalar < 0x11_0000, "no scalar is that large")
    let block = unsafe Int(blocks[Int(scalar >> 7)])
    return unsafe values[block << 7 | Int(scalar & 127)]
  }
}

/// Puts a table together.
struct ScalarTableBuilder<Value: FixedWidthInteger & BitwiseCopyable & Sendable> {
  fileprivate var blocks = [UInt16](repeating: 0, count: ScalarTable<Value>.blockCount)
  fileprivate var values = [Value](repeating: 0, count: 128)
  /// The blocks that have one number throughout.
  private var shared: [Value: UInt16] = [0: 0]
  private var isShared = [true]

  /// Gives a number to scalars next to each other.
  mutating func set(_ scalars: Range<UInt32>, _ value: Value) {
    var first = Int(scalars.lowerBound)
    let end = Int(scalars.upperBound)
    while first < end {
      let block = first >> 7
      let last = min(end, (block + 1) << 7)
      if last - first == 128 {
        blocks[block] = sharedBlock(value)
      } else {
        let own = ownBlock(block)
        for index in first..<last { values[own << 7 | index & 127] = value }
      }
      first = last
    }
  }

  private mutating func sharedBlock(_ value: Value) -> UInt16 {
    if let block = shared[value] { return block }
    let block = UInt16(isShared.count)
    values += repeatElement(value, count: 128)
    isShared.append(true)
    shared[value] = block
    return block
  }

  /// The number of a block that no other scalars have.
  private mutating func ownBlock(_ block: Int) -> Int {
    let number = Int(blocks[block])
    guard isShared[number] else { return number }
    let own = isShared.count
    assert(own <= Int(UInt16.max), "there are more blocks than numbers")
    values += Array(values[number << 7..<(number + 1) << 7])
    isShared.append(false)
    blocks[block] = UInt16(own)
    return own
  }
}
