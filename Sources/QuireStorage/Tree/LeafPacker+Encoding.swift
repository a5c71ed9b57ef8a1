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
    var top = pageSize
    page.prefixCount = prefix
    page.prefixOffset = 0
    if prefix > 0 {
      top -= prefix
      page.prefixOffset = top
      first.keyPrefix(prefix).copy(skipping: 0, to: page.base + top)
    }
    page.count = range.count
    if isUniform {
      let keyCount = hasIntegerKeys ? 0 : first.keyCount &- prefix &- 4
      page.setUniform(keyCount: keyCount, valueCount: first.payloadCount)
    }
    var place = range.lowerBound
    while place < range.upperBound {
      let count = cellRun(place..<range.upperBound, prefix, isUniform)
      if count > 0 {
        top = encodeCells(place..<(place + count), at: place - range.lowerBound, below: top, into: page)
        place &+= count
      } else {
        top = encode(entries[place], at: place - range.lowerBound, below: top, prefix, into: page)
        place &+= 1
      }
    }
    assert(page.leafArraysEnd <= top, "arrays and cells meet")
    page.cellStart = top
    page.garbage = 0
  }

  /// How many entries at the start of `range` stand in cells that a leaf with this prefix may have as they are, one
  /// directly below the other.
  @inline(__always) private func cellRun(_ range: Range<Int>, _ prefix: Int, _ isUniform: Bool) -> Int {
    let entries = entries
    var place = range.lowerBound
    while place < range.upperBound {
      let entry = entries[place]
      guard entry.isCell(prefix, uniform: isUniform), !hasIntegerKeys || entry.backCount == 0 else { break }
      if place > range.lowerBound, entry.payload + entry.payloadCount != entries[place &- 1].cell { break }
      place &+= 1
    }
    return place &- range.lowerBound
  }

  /// Copies the cells of the entries `range`, which lie one directly below the other, below `top`; returns where the
  /// last one begins.
  @inline(__always) private func encodeCells(
    _ range: Range<Int>, at index: Int, below top: Int, into page: PageBytes
  ) -> Int {
    let entries = entries
    let first = entries[range.lowerBound]
    let lowest = entries[range.upperBound &- 1].cell
    let byteCount = first.payload + first.payloadCount - lowest
    assert(byteCount >= 0 && byteCount <= top, "a run of cells is longer than its page")
    (page.base + (top &- byteCount)).copyMemory(from: lowest, byteCount: byteCount)
    let slots = page.leafSlots + index
    let header = page.cellHeader
    let heads32 = page.heads32
    var offset = top
    for place in range {
      let entry = entries[place]
      offset &-= header &+ Int(entry.backCount) &+ entry.payloadCount
      let number = place &- range.lowerBound
      slots[number] = UInt16(truncatingIfNeeded: offset)
      // The heads of a leaf with the same prefix are the same.
      if hasIntegerKeys {
        page.heads64[index &+ number] = entry.integer
      } else {
        heads32[index &+ number] = UInt32(truncatingIfNeeded: entry.integer)
      }
    }
    return offset
  }

  /// Writes an entry from wherever its pieces are; returns where its cell begins.
  @inline(__always) private func encode(
    _ entry: PackedEntry, at index: Int, below top: Int, _ prefix: Int, into page: PageBytes
  ) -> Int {
    let isUniform = page.isUniform
    let known = prefix &+ page.headOnlyCount
    let keyCount = hasIntegerKeys ? 0 : entry.keyCount &- known
    let offset = top &- (page.cellHeader &+ keyCount &+ entry.payloadCount)
    var cell = page.base + offset
    if !isUniform {
      cell.storeBytes(of: UInt16(truncatingIfNeeded: keyCount), as: UInt16.self)
      cell.storeBytes(of: entry.valueField, toByteOffset: 2, as: UInt16.self)
      cell += PageLayout.leafCellHeader
    }
    if hasIntegerKeys {
      page.heads64[index] = entry.integer
      cell.copyMemory(from: entry.payload, byteCount: entry.payloadCount)
    } else {
      entry.copy(skipping: known, to: cell)
      page.heads32[index] = isUniform ? entry.head(at: prefix) : KeyOrder.head(cell, keyCount)
    }
    page.leafSlots[index] = UInt16(truncatingIfNeeded: offset)
    return offset
  }
}
