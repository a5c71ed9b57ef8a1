// A word whose endings are taken off.

/// A word as letters, with the regions in which endings are looked for.
///
/// Rules of the languages take letters off the end of the word, put others there or exchange single ones.
struct StemmedWord {
  var letters: [Letter] = []
  /// Where the regions begin that the languages define; behind the last letter where they are empty. They stay where
  /// they are when the word gets shorter, so that they may lie behind its end.
  var regionV = 0
  var region1 = 0
  var region2 = 0

  var count: Int { letters.count }

  /// Has all regions begin behind the word.
  mutating func clearRegions() { (regionV, region1, region2) = (count, count, count) }

  /// The longest ending that is in a table; nil if the word has none of them at or behind `limit`.
  @inline(__always)
  func ending<Rule>(in table: SuffixTable<Rule>, limit: Int = 0) -> (start: Int, rule: Rule)? {
    table.longest(of: letters, end: count, limit: limit)
  }

  /// The longest ending, before `end`, that is in a table.
  @inline(__always)
  func ending<Rule>(in table: SuffixTable<Rule>, before end: Int, limit: Int = 0) -> (start: Int, rule: Rule)? {
    table.longest(of: letters, end: end, limit: limit)
  }

  /// Takes the letters from `start` on off the word.
  mutating func cut(at start: Int) {
    assert(start >= 0 && start <= count)
    letters.removeLast(count - start)
  }

  /// Puts other letters, of ASCII, in the place of those from `start` on.
  mutating func replace(from start: Int, by text: String) {
    cut(at: start)
    for byte in text.utf8 {
      assert(byte < 128)
      letters.append(Letter(code: UInt32(byte)))
    }
  }

  /// Whether the letters before `end` are these, of ASCII, none of them before `limit`.
  func ends(with text: String, before end: Int, limit: Int = 0) -> Bool {
    var index = end
    for byte in text.utf8.reversed() {
      index -= 1
      guard index >= limit, letters[index].code == UInt32(byte) else { return false }
    }
    return true
  }

  /// Whether the word ends with these letters, of ASCII.
  func ends(with text: String) -> Bool { ends(with: text, before: count) }

  /// Whether the word begins with these letters, of ASCII.
  func begins(with text: String) -> Bool {
    var index = 0
    for byte in text.utf8 {
      guard index < count, letters[index].code == UInt32(byte) else { return false }
      index += 1
    }
    return true
  }

  /// Whether there is a letter before `end` and it is one of `set`.
  @inline(__always) func hasLetter(of set: LetterSet, before end: Int) -> Bool {
    end > 0 && set.contains(letters[end - 1])
  }

  /// Whether there is a letter before `end` and it is none of `set`.
  @inline(__always) func hasLetter(notOf set: LetterSet, before end: Int) -> Bool {
    end > 0 && !set.contains(letters[end - 1])
  }

  /// Behind the first letter of `set` at or behind `start`; nil if there is none.
  func index(past set: LetterSet, from start: Int) -> Int? {
    var index = start
    while index < count {
      if set.contains(letters[index]) { return index + 1 }
      index += 1
    }
    return nil
  }

  /// Behind the first letter not of `set` at or behind `start`; nil if there is none.
  func index(pastOther set: LetterSet, from start: Int) -> Int? {
    var index = start
    while index < count {
      if !set.contains(letters[index]) { return index + 1 }
      index += 1
    }
    return nil
  }

  /// Behind the first letter that is no vowel and comes behind a vowel, from `start` on; the end of the word if there
  /// is none.
  func region(from start: Int, vowels: LetterSet) -> Int {
    guard let vowel = index(past: vowels, from: start), let other = index(pastOther: vowels, from: vowel) else {
      return count
    }
    return other
  }

  /// Has regions 1 and 2 begin where all languages but English have them.
  mutating func findRegions(vowels: LetterSet) {
    region1 = region(from: 0, vowels: vowels)
    region2 = region1 == count ? count : region(from: region1, vowels: vowels)
  }

  /// Where region V of Spanish and Italian begins: behind the next vowel if the second letter is a consonant, behind
  /// the next consonant if the first two letters are vowels, else behind the third letter.
  func southernRegionV(vowels: LetterSet) -> Int {
    guard count >= 3 else { return count }
    let (first, second) = (vowels.contains(letters[0]), vowels.contains(letters[1]))
    if !second { return index(past: vowels, from: 2) ?? count }
    if first { return index(pastOther: vowels, from: 2) ?? count }
    return 3
  }

  /// Exchanges all letters that are `old`.
  mutating func exchange(_ old: Letter, _ new: Letter) {
    for index in letters.indices where letters[index] == old { letters[index] = new }
  }

  /// Puts two letters in the place of each that `pair` gives two for. Takes time for the letters of the word.
  mutating func expand(_ pair: (Letter) -> (Letter, Letter)?) {
    var read = count
    let added = letters.count { pair($0) != nil }
    if added == 0 { return }
    letters.append(contentsOf: repeatElement("-", count: added))
    var write = count
    while read < write {
      read -= 1
      if let (first, second) = pair(letters[read]) {
        letters[write - 2] = first
        letters[write - 1] = second
        write -= 2
      } else {
        letters[write - 1] = letters[read]
        write -= 1
      }
    }
    assert(read >= 0)
  }
}
