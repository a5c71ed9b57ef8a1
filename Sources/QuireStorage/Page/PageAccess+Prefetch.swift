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
