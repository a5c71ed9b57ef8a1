// Which places of phrases stand near those of the others: NEAR, as FTS5 has it.

/// Finds the places of several phrases that are near each other.
///
/// One place of each phrase makes a match if no phrase begins more than its own tokens and the distance before the last
/// one begins. The places of a phrase that are part of some match count, each once. Which matches are tried is as in
/// FTS5, so that the same places count: from each match, the phrase goes on whose next place is the first.
///
/// Phrases stand at one place each and move forwards alone. Which one is too far behind, and which one goes on, is kept
/// as the numbers change, so that each place costs O(log phrases).
struct NearMatcher {
  /// Walks through the places of one phrase.
  private struct Walk {
    var places: [FieldPlace] = []
    var index = 0
    /// Those that are part of a match.
    var matched: [FieldPlace] = []
    /// Whether it is among `moved`.
    var hasMoved = true

    var place: FieldPlace { places[index] }
    /// The place behind the one at hand.
    var next: FieldPlace { index + 1 < places.count ? places[index + 1] : .max }
  }

  private let tokenCounts: [Int64]
  private let distance: Int64
  private var walks: [Walk]
  /// The places at hand, each with the tokens of its phrase.
  private var ends: TournamentTree
  /// The places behind those at hand.
  private var nexts: TournamentTree
  /// The last of the places at hand.
  private var last: FieldPlace = 0
  /// The phrases whose places at hand were not seen to match.
  private var moved: [Int] = []
  private var pulse = SearchPulse()

  /// - Parameter tokenCounts: of each phrase, how many tokens it takes.
  init(tokenCounts: [Int], distance: Int) {
    assert(!tokenCounts.isEmpty, "no phrase is near another")
    self.tokenCounts = tokenCounts.map { Int64($0) }
    self.distance = Int64(min(max(0, distance), FieldPlaces.distanceLimit))
    walks = Array(repeating: Walk(), count: tokenCounts.count)
    (ends, nexts) = (TournamentTree(count: tokenCounts.count), TournamentTree(count: tokenCounts.count))
  }

  /// Sets the places of a phrase, which ascend.
  mutating func set(_ places: [FieldPlace], ofPhrase phrase: Int) {
    walks[phrase].places = places
  }

  /// The places of a phrase that are part of a match.
  func matched(ofPhrase phrase: Int) -> [FieldPlace] { walks[phrase].matched }

  /// Whether there is a match.
  ///
  /// - Throws: `CancellationError`.
  mutating func match() throws -> Bool {
    guard start() else { return false }
    while try gather() {
      for phrase in moved {
        walks[phrase].matched.append(walks[phrase].place)
        walks[phrase].hasMoved = false
      }
      moved.removeAll(keepingCapacity: true)
      let first = nexts.first
      guard try advance(first, to: nexts.least) else { break }
    }
    return !walks[0].matched.isEmpty
  }

  /// Goes to the first places; false if a phrase has none.
  private mutating func start() -> Bool {
    var hasPlaces = true
    moved.removeAll(keepingCapacity: true)
    for phrase in walks.indices {
      walks[phrase].index = 0
      walks[phrase].hasMoved = true
      walks[phrase].matched.removeAll(keepingCapacity: true)
      moved.append(phrase)
      if walks[phrase].places.isEmpty { hasPlaces = false }
    }
    guard hasPlaces else { return false }
    last = walks.reduce(.min) { max($0, $1.place) }
    ends.fill({ walks[$0].place + tokenCounts[$0] }, count: walks.count)
    nexts.fill({ walks[$0].next }, count: walks.count)
    return true
  }

  /// Goes on until the phrases are at places that match; false if there are none.
  private mutating func gather() throws -> Bool {
    while ends.least < last - distance {
      let phrase = ends.first
      guard try advance(phrase, to: last - distance - tokenCounts[phrase]) else { return false }
    }
    return true
  }

  /// Takes a phrase to its first place at or above another one; false if there is none.
  private mutating func advance(_ phrase: Int, to place: FieldPlace) throws -> Bool {
    let start = walks[phrase].index
    walks[phrase].index = walks[phrase].places.index(atOrAbove: place, from: start)
    try pulse.beat(1 + walks[phrase].index - start)
    guard walks[phrase].index < walks[phrase].places.count else { return false }
    last = max(last, walks[phrase].place)
    ends.set(walks[phrase].place + tokenCounts[phrase], at: phrase)
    nexts.set(walks[phrase].next, at: phrase)
    if !walks[phrase].hasMoved {
      walks[phrase].hasMoved = true
      moved.append(phrase)
    }
    return true
  }
}

extension [FieldPlace] {
  /// The index of the first place at or above another one, from `start` on.
  fileprivate func index(atOrAbove place: FieldPlace, from start: Int) -> Int {
    var index = start
    while index < count, self[index] < place { index += 1 }
    return index
  }
}
