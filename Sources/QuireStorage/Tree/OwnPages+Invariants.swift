// What tests ask of the pages of the running transaction after every change.

extension OwnPages {
  /// Checks the invariants that can be told without the trees; returns what is broken.
  package func checkInvariants() -> String? {
    var frames: Set<UInt32> = []
    for frame in born {
      if !frames.insert(frame.rawValue).inserted { return "frame \(frame.rawValue) was made twice" }
      if store.frames.birth(frame) != csn { return "frame \(frame.rawValue) was made by another transaction" }
    }
    var gone: Set<UInt64> = []
    for page in superseded {
      if !gone.insert(page.reference.rawValue).inserted { return "\(page.reference) was replaced twice" }
      if page.birth > csn { return "\(page.reference) was made by a later commit" }
      if page.birth == csn, page.reference.isDirty, !frames.contains(page.reference.frame.rawValue) {
        return "\(page.reference) was replaced and is of nobody's making"
      }
    }
    return extents.checkInvariants(allocator)
  }
}
