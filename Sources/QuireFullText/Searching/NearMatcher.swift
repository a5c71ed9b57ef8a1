// Which places of phrases stand near those of the others: NEAR, as FTS5 has it.

/// Finds the places of several phrases that are near each other.
///
/// One place of each phrase makes a match if no phrase begins more than its own tokens and the distance before the last
/// one begins. The places of a phrase that are part of some match count, each once. Which matches are tried is as in
/// FTS5, so that the same places count: from each match, the phrase goes on whose next place is the first.
struct NearMatcher {
  /// Walks through the places of one phrase.
  private struct Walk {
    var places: [FieldPlace] = []
    var index = 0
    /// Those that are part of a match.
    var matched: [FieldPlace] = []

    var place: FieldPlace { places[index] }
    /// The place behind the one at hand.
    var next: FieldPlace { index + 1 < places.count ? places[index + 1] : .max }
    /// False behind the last place.
    mutating func advance() -> Bool {
      index += 1
      return index < places.count
    }
  }

  private let tokenCounts: [Int64]
  private let distance: Int64
  private var walks: [Walk]

  init(tokenCounts: [Int], distance: Int) {
    assert(tokenCounts.count > 1, "a phrase is near none")
    self.tokenCounts = tokenCounts.map { Int64($0) }
    self.distance = Int64(min(max(0, distance), FieldPlaces.distanceLimit))
    walks = Array(repeating: Walk(), count: tokenCounts.count)
  }

  /// Sets the places of a phrase, which ascend.
  mutating func set(_ places: [FieldPlace], ofPhrase phrase: Int) {
    walks[phrase].places = places
  }

  /// The places of a phrase that are part of a match.
  func matched(ofPhrase phrase: Int) -> [FieldPlace] { walks[phrase].matched }

  /// Whether there is a match.
  mutating func match() -> Bool {
    for phrase in walks.indices {
      walks[phrase].index = 0
      walks[phrase].matched.removeAll(keepingCapacity: true)
    }
    if walks.contains(where: { $0.places.isEmpty }) { return false }
    while gather() {
      for phrase in walks.indices where walks[phrase].matched.last != walks[phrase].place {
        walks[phrase].matched.append(walks[phrase].place)
      }
      var (first, least) = (0, walks[0].next)
      for phrase in walks.indices.dropFirst() where walks[phrase].next < least {
        (first, least) = (phrase, walks[phrase].next)
      }
      if !walks[first].advance() { break }
    }
    return !walks[0].matched.isEmpty
  }

  /// Goes on until the phrases are at places that match; false if there are none.
  private mutating func gather() -> Bool {
    var last = walks[0].place
    var isMatch: Bool
    repeat {
      isMatch = true
      for phrase in walks.indices {
        let first = last - tokenCounts[phrase] - distance
        if walks[phrase].place >= first && walks[phrase].place <= last { continue }
        isMatch = false
        while walks[phrase].place < first { if !walks[phrase].advance() { return false } }
        last = max(last, walks[phrase].place)
      }
    } while !isMatch
    return true
  }
}
