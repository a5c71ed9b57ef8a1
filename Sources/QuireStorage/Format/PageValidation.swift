// What a page must satisfy before a search may trust its numbers. A page that passes cannot lead a search outside
// itself, whatever else is wrong with it: that is what allows the searches to do without checks.

/// Checks the structure of pages that came from disk.
package enum PageValidation {
  /// Why the page breaks the format, or nil. Touches every entry's fixed part once; never follows a reference.
  ///
  /// - Parameters:
  ///   - page: a tree page of `pageSize` bytes whose checksum has been verified.
  ///   - pageCount: the number of pages of the file; references must stay below.
  ///   - allowsFrames: whether references to frames may stand in the page: in memory only, never on disk.
  package static func defect(
    in page: PageBytes, pageSize: Int, pageCount: UInt64, allowsFrames: Bool = false
  ) -> String? {
    guard let kind = PageKind(rawValue: page.kind), kind == .leaf || kind == .branch else {
      return "its kind, \(page.kind), is not that of a tree page"
    }
    guard KeyKind(rawValue: page.keyKind) != nil else { return "its kind of keys, \(page.keyKind), is unknown" }
    let isLeaf = kind == .leaf
    guard isLeaf ? page.level == 0 : (1..<Limits.treeLevels).contains(page.level) else {
      return "its level, \(page.level), does not fit its kind"
    }
    guard page.count > 0 else { return "it has no entries" }
    let arraysEnd = isLeaf ? page.leafArraysEnd : page.branchArraysEnd
    guard arraysEnd <= page.cellStart, page.cellStart <= pageSize else {
      return "its entries and cells overlap"
    }
    guard page.cellStart + page.garbage <= pageSize else { return "it has more garbage than cells" }
    if page.prefixCount > 0 {
      guard !page.hasIntegerKeys, page.prefixOffset >= page.cellStart,
        page.prefixOffset + page.prefixCount <= pageSize, page.prefixCount <= Limits.keyByteCount
      else { return "its prefix lies outside the page" }
    }
    return isLeaf
      ? leafDefect(page, pageSize: pageSize, pageCount: pageCount)
      : branchDefect(page, pageSize: pageSize, pageCount: pageCount, allowsFrames: allowsFrames)
  }

  private static func leafDefect(_ page: PageBytes, pageSize: Int, pageCount: UInt64) -> String? {
    if page.isUniform { return uniformDefect(page, pageSize: pageSize) }
    let slots = page.leafSlots
    let cellStart = page.cellStart
    let prefixCount = page.prefixCount
    let hasIntegerKeys = page.hasIntegerKeys
    for index in 0..<page.count {
      let offset = Int(slots[index])
      guard offset >= cellStart, offset + PageLayout.leafCellHeader <= pageSize else {
        return "cell \(index) lies outside the page"
      }
      let cell = page.leafCell(at: offset)
      guard offset + cell.byteCount <= pageSize else { return "cell \(index) reaches beyond the page" }
      guard hasIntegerKeys ? cell.keyCount == 0 : prefixCount + cell.keyCount <= Limits.keyByteCount else {
        return "the key of cell \(index) is too long"
      }
      if cell.isExtent, let defect = extentDefect(cell, pageSize: pageSize, pageCount: pageCount) {
        return "the extent of cell \(index) is impossible: \(defect)"
      }
    }
    return nil
  }

  /// The same for a leaf whose header has the lengths of all entries.
  private static func uniformDefect(_ page: PageBytes, pageSize: Int) -> String? {
    let (keyCount, valueCount) = (page.uniformKeyCount, page.uniformValueCount)
    // Longer keys stand in plain leaves. With some of its entries taken out, a leaf is written anew without being
    // measured: it stays uniform only within this limit.
    guard page.hasIntegerKeys ? keyCount == 0 : page.prefixCount + keyCount <= PageLayout.uniformKeyLimit else {
      return "the length of its keys is impossible"
    }
    // The flag of an extent would make the length longer than any page.
    guard keyCount + valueCount <= pageSize - page.cellStart else { return "its entries are longer than its cells" }
    let last = pageSize - keyCount - valueCount
    let slots = page.leafSlots
    for index in 0..<page.count where Int(slots[index]) < page.cellStart || Int(slots[index]) > last {
      return "cell \(index) lies outside the page"
    }
    return nil
  }

  private static func extentDefect(_ cell: LeafCell, pageSize: Int, pageCount: UInt64) -> String? {
    guard cell.valueCount == ExtentReference.byteCount else { return "its reference has \(cell.valueCount) bytes" }
    return cell.extent.defect(pageSize: pageSize, pageCount: pageCount)
  }

  private static func branchDefect(
    _ page: PageBytes, pageSize: Int, pageCount: UInt64, allowsFrames: Bool
  ) -> String? {
    var total: UInt64 = 0
    for index in 0..<page.count {
      let reference = page.references[index]
      let isFrame = allowsFrames && PageReference(rawValue: reference).isDirty
      guard isFrame || (reference >= 2 && reference < pageCount) else {
        return "child \(index) is at \(reference), which is no page of this file"
      }
      let (sum, overflow) = total.addingReportingOverflow(ChildCount.count(page.counts[index]))
      // Far below the largest integer, so that sums over the levels of a tree cannot overflow either.
      guard !overflow, sum <= Limits.entryCount else { return "its counts are impossible" }
      total = sum
    }
    guard !page.hasIntegerKeys else { return nil }
    let slots = page.branchSlots
    for index in 1..<max(page.count, 1) {
      let offset = Int(slots[index])
      guard offset >= page.cellStart, offset + PageLayout.branchCellHeader <= pageSize,
        offset + PageLayout.branchCellHeader + page.separator(index).count <= pageSize,
        page.prefixCount + page.separator(index).count <= Limits.keyByteCount
      else { return "separator \(index) lies outside the page" }
    }
    return nil
  }
}
