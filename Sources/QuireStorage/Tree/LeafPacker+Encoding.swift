// Writing packed entries to a leaf.

extension LeafPacker {
  /// Fills `page`, whose header has been initialized, with the entries `range`, which must fit and must not lie in it.
  func encode(_ range: Range<Int>, into page: PageBytes) {
    if range.isEmpty { return }
    assert(range.lowerBound >= 0 && range.upperBound <= count, "what is written was not packed")
    assert(page.hasIntegerKeys == hasIntegerKeys, "keys of another kind are written")
    let isUniform = areUniform(range)
    let prefix = prefixCount(range, isUniform: isUniform)
    let first = entries[range.lowerBound]
    let lengths =
      isUniform
      ? UniformLengths(
        keyCount: first.keyCount &- prefix, valueCount: first.payloadCount, hasIntegerKeys: hasIntegerKeys) : nil
    var leaf = LeafEncoder(page, pageSize: pageSize, count: range.count, prefixCount: prefix, lengths: lengths)
    if prefix > 0 { first.keyPrefix(prefix).copy(skipping: 0, to: leaf.prefix) }
    var place = range.lowerBound
    while place < range.upperBound {
      let count = cellRun(place..<range.upperBound, prefix, leaf.cellHeader)
      if count > 0 {
        encodeCells(place..<(place + count), into: &leaf)
        place &+= count
      } else {
        encode(entries[place], prefix, isUniform: isUniform, into: &leaf)
        place &+= 1
      }
    }
    leaf.finish()
  }

  /// How many entries at the start of `range` stand in cells that a leaf with this prefix may have as they are, one
  /// directly below the other.
  @inline(__always) private func cellRun(_ range: Range<Int>, _ prefix: Int, _ cellHeader: Int) -> Int {
    let entries = entries
    var place = range.lowerBound
    while place < range.upperBound {
      let entry = entries[place]
      guard entry.isCell(prefix, cellHeader), !hasIntegerKeys || entry.backCount == 0 else { break }
      if place > range.lowerBound, entry.payload + entry.payloadCount != entries[place &- 1].cell { break }
      place &+= 1
    }
    return place &- range.lowerBound
  }

  /// Copies the cells of the entries `range`, which lie one directly below the other.
  @inline(__always) private func encodeCells(_ range: Range<Int>, into leaf: inout LeafEncoder) {
    let entries = entries
    let first = entries[range.lowerBound]
    let lowest = entries[range.upperBound &- 1].cell
    let byteCount = first.payload + first.payloadCount - lowest
    let target = leaf.makeRoom(byteCount)
    target.copyMemory(from: lowest, byteCount: byteCount)
    let header = leaf.cellHeader
    var cell = target + byteCount
    for place in range {
      let entry = entries[place]
      cell -= header &+ Int(entry.backCount) &+ entry.payloadCount
      // The heads of a leaf with the same prefix are the same.
      leaf.enter(head: entry.integer, cell: cell)
    }
  }

  /// Writes an entry from wherever its pieces are.
  @inline(__always) private func encode(
    _ entry: PackedEntry, _ prefix: Int, isUniform: Bool, into leaf: inout LeafEncoder
  ) {
    let known = prefix &+ leaf.keyCountInHead
    let keyCount = hasIntegerKeys ? 0 : entry.keyCount &- known
    let cell = leaf.makeRoom(leaf.cellHeader &+ keyCount &+ entry.payloadCount)
    let body = cell + leaf.cellHeader
    if !isUniform { LeafCell.writeLengths(keyCount, entry.valueField, to: cell) }
    var head = entry.integer
    if hasIntegerKeys {
      body.copyMemory(from: entry.payload, byteCount: entry.payloadCount)
    } else {
      entry.copy(skipping: known, to: body)
      head = UInt64(isUniform ? entry.head(at: prefix) : KeyOrder.head(body, keyCount))
    }
    leaf.enter(head: head, cell: cell)
  }

  /// Whether no value or key of an entry lies in `page`; for assertions.
  func isApart(from page: PageBytes) -> Bool {
    let memory = UnsafeRawPointer(page.base)..<UnsafeRawPointer(page.base + pageSize)
    return (0..<count).allSatisfy { index in
      let entry = entries[index]
      if entry.frontCount > 0, memory.contains(entry.front) { return false }
      if entry.backCount > 0, memory.contains(entry.back) { return false }
      return entry.payloadCount == 0 || !memory.contains(entry.payload)
    }
  }
}
