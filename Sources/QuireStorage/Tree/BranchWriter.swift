// Editing a branch in place: the one place besides `BranchPacker` that writes what branches say of their children.

/// A page that a split added to the right of the one that was split.
struct SplitPage {
  let separator: OwnedKey
  let reference: PageReference
  /// What the parent counts for it: a word of `ChildCount`.
  let count: UInt64
}

/// Edits a private branch where its children stand.
///
/// Invariants, before and after each call: heads are those of the separators; the arrays end in front of `cellStart`.
struct BranchWriter {
  let branch: PageBytes

  init(_ branch: PageBytes) { self.branch = branch }

  /// Inserts a child; false if there is no room or the separator lacks the page's prefix.
  func insert(_ new: SplitPage, at index: Int) throws(StorageError) -> Bool {
    assert(index > 0 && index <= branch.count, "a child with a separator goes behind another")
    assert(branch.level > 0, "leaves have no children")
    return try new.separator.withSplitKey { (key) throws(StorageError) -> Bool in
      let hasIntegerKeys = branch.hasIntegerKeys
      let prefixCount = branch.prefixCount
      let keyCount = hasIntegerKeys ? 0 : key.count - prefixCount
      if !hasIntegerKeys, prefixCount > 0, branch.comparePrefix(with: SearchKey(key.back)) != 0 { return false }
      let cellByteCount = hasIntegerKeys ? 0 : PageLayout.branchCellHeader + keyCount
      let newEnd = PageBytes.branchArraysEnd(count: branch.count + 1, hasIntegerKeys: hasIntegerKeys)
      guard newEnd + cellByteCount <= branch.cellStart else { return false }
      assert(keyCount >= 0, "a separator has less than the prefix of its branch")
      openGap(at: index)
      branch.references[index] = new.reference.rawValue
      branch.checksums[index] = 0
      branch.counts[index] = new.count
      if hasIntegerKeys {
        branch.heads64[index] = key.integer
      } else {
        let offset = branch.cellStart - cellByteCount
        let cell = branch.base + offset
        cell.storeBytes(of: UInt16(truncatingIfNeeded: keyCount), as: UInt16.self)
        key.copy(skipping: prefixCount, to: cell + PageLayout.branchCellHeader)
        branch.heads32[index] = KeyOrder.head(cell + PageLayout.branchCellHeader, keyCount)
        branch.branchSlots[index] = UInt16(truncatingIfNeeded: offset)
        branch.cellStart = offset
      }
      return true
    }
  }

  /// Moves the arrays, from the last one to the first, so that there is room for a child at `index`.
  private func openGap(at index: Int) {
    let count = branch.count
    let (slots, counts, checksums, references) = (
      UnsafeMutableRawPointer(branch.branchSlots), UnsafeMutableRawPointer(branch.counts),
      UnsafeMutableRawPointer(branch.checksums), UnsafeMutableRawPointer(branch.references)
    )
    let heads = branch.base + PageLayout.headerByteCount
    branch.count = count + 1
    func move(_ old: UnsafeMutableRawPointer, _ new: UnsafeMutableRawPointer, width: Int) {
      memmoveBytes(new + width * (index + 1), old + width * index, width * (count - index))
      memmoveBytes(new, old, width * index)
    }
    if !branch.hasIntegerKeys { move(slots, UnsafeMutableRawPointer(branch.branchSlots), width: 2) }
    move(counts, UnsafeMutableRawPointer(branch.counts), width: 8)
    move(checksums, UnsafeMutableRawPointer(branch.checksums), width: 8)
    move(references, UnsafeMutableRawPointer(branch.references), width: 8)
    move(heads, heads, width: branch.headWidth)
    branch.clearHeadPadding()
  }
}

extension PageBytes {
  /// Zeroes the four bytes behind an odd number of heads, which reach the disk with the page.
  @inline(__always) func clearHeadPadding() {
    if !hasIntegerKeys, count & 1 == 1 { heads32[count] = 0 }
  }
}
