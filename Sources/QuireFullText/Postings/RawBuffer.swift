// Memory for numbers that is used again and again.

/// Some plain values one behind the other, in memory that grows and is kept: without the checks of an array. Values are
/// numbers, or made of numbers alone.
///
/// For one thread.
@safe final class RawBuffer<Element> {
  // Unchecked: no closure changes what a call around it reads.
  @exclusivity(unchecked) private var uncheckedBase: UnsafeMutablePointer<Element>
  @exclusivity(unchecked) private var uncheckedCount = 0
  @exclusivity(unchecked) private var capacity = 0

  init() { unsafe uncheckedBase = .allocate(capacity: 0) }

  deinit { unsafe uncheckedBase.deallocate() }

  /// The values; good until room is made for more.
  var base: UnsafeMutablePointer<Element> { @inline(__always) get { unsafe uncheckedBase } }
  /// How many values were appended.
  var count: Int { @inline(__always) get { unsafe uncheckedCount } }
  /// The values that were appended; good until room is made for more.
  var values: UnsafeMutableBufferPointer<Element> {
    @inline(__always) get { unsafe UnsafeMutableBufferPointer(start: uncheckedBase, count: uncheckedCount) }
  }

  /// Makes room for so many values, and keeps those that were appended.
  @inline(__always) func reserve(_ wanted: Int) {
    if unsafe wanted > capacity { grow(wanted) }
  }

  @inline(never) private func grow(_ wanted: Int) {
    let larger = unsafe max(wanted, 2 * capacity, 64)
    let grown = UnsafeMutablePointer<Element>.allocate(capacity: larger)
    unsafe grown.moveInitialize(from: uncheckedBase, count: uncheckedCount)
    unsafe uncheckedBase.deallocate()
    unsafe (uncheckedBase, capacity) = unsafe (grown, larger)
  }

  @inline(__always) func append(_ value: Element) {
    unsafe reserve(uncheckedCount + 1)
    unsafe uncheckedBase[uncheckedCount] = value
    unsafe uncheckedCount &+= 1
  }

  func append(contentsOf values: UnsafeBufferPointer<Element>) {
    guard let start = values.baseAddress else { return }
    unsafe reserve(uncheckedCount + values.count)
    unsafe (uncheckedBase + uncheckedCount).update(from: start, count: values.count)
    unsafe uncheckedCount &+= values.count
  }

  func append(contentsOf values: [Element]) {
    unsafe values.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
  }

  /// Says how many values there are, for which room was made, and which were written.
  @inline(__always) func setCount(_ count: Int) {
    unsafe assert(count >= 0 && count <= capacity, "there is no room for so many values")
    unsafe uncheckedCount = count
  }

  /// Forgets the values, and makes room for so many.
  func removeAll(reserving count: Int = 0) {
    unsafe uncheckedCount = 0
    reserve(count)
  }
}
