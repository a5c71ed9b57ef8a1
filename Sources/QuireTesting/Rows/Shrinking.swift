// Finding out which steps of a history a failure needs.

/// Leaves out what a failing list of operations does not need in order to fail: chunks of it, from halves down to
/// single elements, for as long as the deadline allows.
///
/// `fails` runs a list from the start and says whether it still fails. The result is `operations` itself or a list that
/// `fails` has found to fail; if the deadline did not end it, none of its elements can be left out alone.
package func shrink<Operation>(
  _ operations: [Operation], until deadline: ContinuousClock.Instant, fails: ([Operation]) throws -> Bool
) rethrows -> [Operation] {
  var kept = operations
  var size = max(1, kept.count / 2)
  while true {
    var start = 0
    var hasLeftOut = false
    while start < kept.count {
      guard ContinuousClock.now < deadline else { return kept }
      let end = min(start + size, kept.count)
      var fewer = kept
      fewer.removeSubrange(start..<end)
      if try fails(fewer) {
        kept = fewer
        hasLeftOut = true
      } else {
        start = end
      }
    }
    // Singles are gone over until none of them goes: leaving one out may make another needless.
    if size > 1 {
      size /= 2
    } else if !hasLeftOut {
      return kept
    }
  }
}
