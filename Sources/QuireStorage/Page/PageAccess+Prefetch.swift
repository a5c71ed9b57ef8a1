// Asking for the memory of pages before they are needed. Hints, all of them: nothing is loaded, and nothing can fail.

internal import CQuirePlatform
internal import Synchronization

extension PageAccess {
  /// Asks for the word that says where the page is.
  @inline(__always) package func prefetchPlace(of reference: PageReference) {
    if reference.isDirty {
      quire_prefetch(frameEntries.entry(Int(reference.frame.rawValue)))
    } else {
      quire_prefetch(table.address(of: reference.pageNumber))
    }
  }

  /// Asks for the first cache lines of the page, if it is in memory. Best called some time after `prefetchPlace`.
  @inline(__always) package func prefetchPage(_ reference: PageReference) {
    guard let page = residentPage(reference) else { return }
    quire_prefetch(page.base)
    page.prefetchArrays()
  }

  /// The page if it is in memory; neither loaded nor looked at.
  @inline(__always) package func residentPage(_ reference: PageReference) -> PageBytes? {
    var number = reference.pageNumber
    if reference.isDirty {
      let entry = frameEntries.entry(Int(reference.frame.rawValue))
      let location = FrameLocation(
        rawValue: entry.assumingMemoryBound(to: Atomic<UInt>.self).pointee.load(ordering: .acquiring))
      if !location.isPageNumber { return PageBytes(location.slot) }
      number = location.pageNumber
    }
    return table.anySlot(number).map(PageBytes.init)
  }
}

extension PageBytes {
  /// Asks for the cache lines from that of `offset` on; `lastLine` is where the last line of a page begins.
  @inline(__always) package func prefetchLines(from offset: Int, through lastLine: Int) {
    var line = offset & ~63
    while line <= lastLine {
      quire_prefetch(base + line)
      line &+= 64
    }
  }

  /// Asks for the cache lines of all cells.
  @inline(__always) package func prefetchCells(through lastLine: Int) {
    prefetchLines(from: cellStart, through: lastLine)
  }

  /// Asks for what a search of a branch touches beyond what `prefetchArrays` brings: the rest of the heads and the
  /// prefix. The header must be in the cache.
  @inline(__always) package func prefetchBranchSearch() {
    let end = PageLayout.headerByteCount &+ headWidth &* count
    var offset = 256
    while offset < end {
      quire_prefetch(base + offset)
      offset &+= 64
    }
    prefetchPrefix()
  }

  /// Asks for the prefix, which every search compares first.
  @inline(__always) package func prefetchPrefix() {
    if prefixCount > 0 { quire_prefetch(base + prefixOffset) }
  }

  /// Asks for the reference of a child.
  @inline(__always) package func prefetchReference(_ index: Int) { quire_prefetch(references + index) }

  /// Asks for the count of a child, which an edit below it changes.
  @inline(__always) package func prefetchCount(_ index: Int) { quire_prefetch(counts + index) }

  /// Asks for the first `lines` cache lines of an entry's cell in a leaf.
  @inline(__always) package func prefetchCell(_ index: Int, lines: Int) {
    // Without a look at the cell.
    let cell = base + Int(leafSlots[index])
    var line = 0
    while line < lines {
      quire_prefetch(cell + 64 &* line)
      line &+= 1
    }
  }
}
