// What a transaction has made and replaced itself, long before its end.

extension OwnPages {
  /// Takes the frames that were made and replaced since `mark`, the newest point that may be returned to: nobody can
  /// reach them. They are forgotten here and are the caller's to release, with the places that they may have
  /// been spilled to.
  ///
  /// A transaction that goes over its pages many times would otherwise keep every version of them to its end, in memory
  /// or in the file. Linear in what was made and replaced since the mark.
  package func takeDead(since mark: Mark) -> [FrameIndex] {
    var frames = PageBits()
    var places = PageBits()
    for page in superseded.from(mark.superseded) where isOwn(page) {
      if page.reference.isDirty {
        frames[UInt64(page.reference.frame.rawValue)] = true
      } else {
        places[page.reference.rawValue] = true
      }
    }
    guard !frames.isEmpty || !places.isEmpty else { return [] }
    var dead: [FrameIndex] = []
    var deadFrames = PageBits()
    var deadPlaces = PageBits()
    // What was made before the mark and replaced after it is found in none of these, and stays. In place: the lists of
    // a transaction that is short of memory are long.
    var kept = mark.born
    for index in mark.born..<born.count {
      let frame = born[index]
      let location = store.frames.location(frame)
      let place = location.isPageNumber ? location.pageNumber.rawValue : 0
      guard frames[UInt64(frame.rawValue)] || (place != 0 && places[place]) else {
        born[kept] = frame
        kept += 1
        continue
      }
      dead.append(frame)
      deadFrames[UInt64(frame.rawValue)] = true
      if place != 0 { deadPlaces[place] = true }
    }
    assert(kept + dead.count == born.count, "a frame is lost")
    born.truncate(to: kept)
    kept = mark.superseded
    for index in mark.superseded..<superseded.count {
      let page = superseded[index]
      if isOwn(page),
        page.reference.isDirty
          ? deadFrames[UInt64(page.reference.frame.rawValue)] : deadPlaces[page.reference.rawValue]
      {
        continue
      }
      superseded[kept] = page
      kept += 1
    }
    assert(kept >= mark.superseded && kept <= superseded.count, "the list of replaced pages has grown")
    superseded.truncate(to: kept)
    return dead
  }

  /// Whether a page of a tree was made by the running transaction.
  private func isOwn(_ page: SupersededPage) -> Bool { page.birth == csn && page.extentPageCount == 0 }
}
