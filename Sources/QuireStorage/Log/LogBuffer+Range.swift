// How a range delete enters the record of its transaction.

extension LogBuffer {
  /// Copies of the bounds of a range, inside the buffer; valid until the next operation.
  package struct RangeCopy {
    package let lower: SearchKey?
    package let upper: SearchKey?
  }

  /// Notes that every entry from `lower` on and below `upper` is gone; returns the bounds to work with.
  package func deleteRange(_ tree: TreeID, _ kind: KeyKind, from lower: SearchKey?, to upper: SearchKey?) -> RangeCopy {
    reserve(2 + 3 * Varint.maximumByteCount + (lower?.count ?? 0) + (upper?.count ?? 0))
    let isInteger = kind == .int64
    appendByte((isInteger ? LogOperation.Code.deleteIntegerRange : .deleteRange).rawValue)
    appendVarint(tree.rawValue)
    appendByte((lower == nil ? 0 : 1) | (upper == nil ? 0 : 2))
    return RangeCopy(lower: lower.map { appendBound($0, isInteger) }, upper: upper.map { appendBound($0, isInteger) })
  }

  private func appendBound(_ key: SearchKey, _ isInteger: Bool) -> SearchKey {
    if isInteger {
      appendVarint(LogOperation.zigzag(KeyOrder.key(key.integer)))
      return key
    }
    return SearchKey(copied(appendBytes(key.base, key.count), key.count))
  }
}
