// Stems of German words.

/// Snowball's rules for German.
private enum German {
  static let vowels = LetterSet("aeiouyäöü")
  /// What stands before an *-s* that goes.
  static let beforeS = LetterSet("bdfghklmnrt")
  /// What stands before an *-st* that goes.
  static let beforeSt = LetterSet("bdfghklmnt")

  enum Inflection { case delete, deleteNis, s }

  static let inflections = SuffixTable(["em ern er": Inflection.delete, "e en es": .deleteNis, "s": .s])

  enum Comparison { case delete, st }

  static let comparisons = SuffixTable(["en er est": Comparison.delete, "st": .st])

  enum Derivation { case deleteIg, deleteUnlessE, deleteErEn, keit }

  static let derivations = SuffixTable([
    "end ung": Derivation.deleteIg, "ig ik isch": .deleteUnlessE, "lich heit": .deleteErEn, "keit": .keit,
  ])

  static let beforeKeit = SuffixTable(["lich ig": ()])
  static let beforeLich = SuffixTable(["er en": ()])
}

extension StemmedWord {
  /// Leaves the stem of a German word.
  mutating func stemGerman() {
    markGerman()
    findGermanRegions()
    takeOffGermanInflection()
    takeOffGermanComparison()
    takeOffGermanDerivation()
    unmarkGerman()
  }

  /// Writes ß as ss, and marks u and y between vowels as U and Y: they are no vowels then.
  private mutating func markGerman() {
    expand { $0 == "ß" ? ("s", "s") : nil }
    for index in letters.indices.dropFirst().dropLast() {
      guard letters[index] == "u" || letters[index] == "y" else { continue }
      if German.vowels.contains(letters[index - 1]), German.vowels.contains(letters[index + 1]) {
        letters[index] = letters[index] == "u" ? "U" : "Y"
      }
    }
  }

  /// Regions 1 and 2, of which the first begins behind the third letter at the earliest; both are empty in shorter
  /// words.
  private mutating func findGermanRegions() {
    clearRegions()
    guard count >= 3 else { return }
    let start = region(from: 0, vowels: German.vowels)
    region1 = max(start, 3)
    region2 = region(from: start, vowels: German.vowels)
  }

  private mutating func takeOffGermanInflection() {
    guard let (start, rule) = ending(in: German.inflections), start >= region1 else { return }
    switch rule {
    case .delete: cut(at: start)
    case .deleteNis:
      cut(at: start)
      if ends(with: "niss") { letters.removeLast() }
    case .s: if hasLetter(of: German.beforeS, before: start) { cut(at: start) }
    }
  }

  private mutating func takeOffGermanComparison() {
    guard let (start, rule) = ending(in: German.comparisons), start >= region1 else { return }
    switch rule {
    case .delete: cut(at: start)
    case .st: if start >= 4, hasLetter(of: German.beforeSt, before: start) { cut(at: start) }
    }
  }

  private mutating func takeOffGermanDerivation() {
    guard let (start, rule) = ending(in: German.derivations), start >= region2 else { return }
    switch rule {
    case .deleteIg:
      cut(at: start)
      if ends(with: "ig"), !ends(with: "eig"), count - 2 >= region2 { cut(at: count - 2) }
    case .deleteUnlessE:
      if !ends(with: "e", before: start) { cut(at: start) }
    case .deleteErEn:
      cut(at: start)
      if let (before, _) = ending(in: German.beforeLich), before >= region1 { cut(at: before) }
    case .keit:
      cut(at: start)
      if let (before, _) = ending(in: German.beforeKeit), before >= region2 { cut(at: before) }
    }
  }

  /// Takes the marks and the umlauts off.
  private mutating func unmarkGerman() {
    for index in letters.indices {
      switch letters[index] {
      case "U", "ü": letters[index] = "u"
      case "Y": letters[index] = "y"
      case "ä": letters[index] = "a"
      case "ö": letters[index] = "o"
      default: break
      }
    }
  }
}
