// Bytes as C interfaces take them.

/// Bytes as C characters and a count.
struct Characters {
  let start: UnsafePointer<CChar>?
  let count: Int

  @inline(__always) init(_ bytes: UnsafeRawBufferPointer) {
    start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
    count = bytes.count
  }
}
