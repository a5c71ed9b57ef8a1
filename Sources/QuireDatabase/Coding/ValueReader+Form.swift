// Whether bytes are the binary form, without making the value that they are.

extension ValueReader {
  /// How deep values may be inside one another that are looked at here.
  private static let formDepth = 16

  /// Whether the row is the binary form of a value, in which the first `nameCount` numbers stand for names of fields.
  /// False if it is not, or is not so simple that this is seen without decoding it. O(bytes), without allocations.
  func isPlainRow(nameCount: Int) -> Bool {
    guard let head = rowHead() else { return false }
    return isPlain(head, nameCount, depth: 0)
  }

  private func isPlain(_ head: ValueHead, _ nameCount: Int, depth: Int) -> Bool {
    switch head.kind {
    case ValueKind.text: return isUTF8(head)
    case ValueKind.list, ValueKind.record: break
    default: return true
    }
    guard depth < Self.formDepth else { return false }
    var offset = head.start
    while offset < head.end {
      if head.kind == ValueKind.record, !passName(at: &offset, limit: head.end, nameCount) { return false }
      guard let value = self.head(at: offset, limit: head.end) else { return false }
      // Most are scalars, and need no call.
      if value.kind == ValueKind.text || value.kind == ValueKind.list || value.kind == ValueKind.record {
        guard isPlain(value, nameCount, depth: depth + 1) else { return false }
      }
      offset = value.end
    }
    assert(offset == head.end, "a value ends behind the one around it")
    return true
  }

  /// Moves behind the name of a field; false if it is none.
  @inline(__always) private func passName(at offset: inout Int, limit: Int, _ nameCount: Int) -> Bool {
    guard let number = varint(at: &offset, limit: limit) else { return false }
    if number != 0 { return Int(number) <= nameCount }
    guard let name = head(at: offset, limit: limit), name.kind == ValueKind.text, isUTF8(name) else { return false }
    offset = name.end
    return true
  }
}
