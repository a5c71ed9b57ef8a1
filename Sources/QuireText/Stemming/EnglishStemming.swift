// Stems of English words.

/// The rules of Porter 2.
private enum English {
  static let vowels = LetterSet("aeiouy")
  /// Behind these, a vowel is no short syllable.
  static let vowelsAndWXY = LetterSet("aeiouywxY")
  /// What stands before an *-li* that goes.
  static let beforeLi = LetterSet("cdeghkmnrt")

  /// Words that have a stem of their own.
  static let exceptions = SuffixTable([
    "skis": "ski", "skies": "sky", "dying": "die", "lying": "lie", "tying": "tie", "idly": "idl",
    "gently": "gentl", "ugly": "ugli", "early": "earli", "only": "onli", "singly": "singl", "sky": "sky",
    "news": "news", "howe": "howe", "atlas": "atlas", "cosmos": "cosmos", "bias": "bias", "andes": "andes",
  ])

  /// Words that stay as they are once they have lost an *-s*.
  static let unchanged = SuffixTable(["inning outing canning herring earring proceed exceed succeed": ()])

  /// Genitives.
  static let genitives = SuffixTable(["' 's 's'": ()])

  enum Plural { case sses, ies, s, none }

  static let plurals = SuffixTable(["sses": Plural.sses, "ied ies": .ies, "s": .s, "us ss": .none])

  enum Participle { case eed, other }

  static let participles = SuffixTable(["eed eedly": Participle.eed, "ed edly ing ingly": .other])

  enum AfterParticiple { case addE, double }

  static let afterParticiples = SuffixTable([
    "at bl iz": AfterParticiple.addE, "bb dd ff gg mm nn pp rr tt": .double,
  ])

  enum Derivation {
    case replace(String), ogi, li, ative
  }

  static let derivations = SuffixTable([
    "tional": Derivation.replace("tion"), "enci": .replace("ence"), "anci": .replace("ance"), "abli": .replace("able"),
    "entli": .replace("ent"), "izer ization": .replace("ize"), "ational ation ator": .replace("ate"),
    "alism aliti alli": .replace("al"), "fulness fulli": .replace("ful"), "ousli ousness": .replace("ous"),
    "iveness iviti": .replace("ive"), "biliti bli": .replace("ble"), "lessli": .replace("less"), "ogi": .ogi, "li": .li,
  ])

  static let secondDerivations = SuffixTable([
    "tional": Derivation.replace("tion"), "ational": .replace("ate"), "alize": .replace("al"),
    "icate iciti ical": .replace("ic"), "ful ness": .replace(""), "ative": .ative,
  ])

  enum LastSuffix { case delete, ion }

  static let lastSuffixes = SuffixTable([
    "al ance ence er ic able ible ant ement ment ent ism ate iti ous ive ize": LastSuffix.delete, "ion": .ion,
  ])
}

extension StemmedWord {
  /// Leaves the stem of an English word.
  mutating func stemEnglish() {
    if let (start, stem) = ending(in: English.exceptions), start == 0 { return replace(from: 0, by: stem) }
    guard count >= 3 else { return }
    let hasMarks = markEnglish()
    findEnglishRegions()
    takeOffEnglishPlural()
    if let (start, _) = ending(in: English.unchanged), start == 0 {
      // The word is its stem.
    } else {
      takeOffEnglishParticiple()
      exchangeEnglishY()
      exchangeEnglishDerivation()
      exchangeSecondEnglishDerivation()
      takeOffLastEnglishSuffix()
      takeOffEnglishEOrL()
    }
    if hasMarks { exchange("Y", "y") }
  }

  /// Takes an apostrophe off the beginning and marks each y that is a consonant as Y.
  ///
  /// - Returns: whether there is one.
  private mutating func markEnglish() -> Bool {
    if letters[0] == "'" { letters.removeFirst() }
    var hasMarks = false
    if letters[0] == "y" {
      letters[0] = "Y"
      hasMarks = true
    }
    for index in 1..<max(1, count) where letters[index] == "y" && English.vowels.contains(letters[index - 1]) {
      letters[index] = "Y"
      hasMarks = true
    }
    return hasMarks
  }

  private mutating func findEnglishRegions() {
    if begins(with: "gener") || begins(with: "arsen") {
      region1 = 5
    } else if begins(with: "commun") {
      region1 = 6
    } else {
      region1 = region(from: 0, vowels: English.vowels)
    }
    region2 = region(from: region1, vowels: English.vowels)
  }

  /// Whether the letters before `end` end with a short syllable: a vowel between consonants, of which the second is
  /// none of w, x and Y, or a vowel at the beginning and a consonant.
  private func endsWithShortSyllable(before end: Int) -> Bool {
    guard end >= 2, English.vowels.contains(letters[end - 2]) else { return false }
    if end == 2 { return !English.vowels.contains(letters[1]) }
    return !English.vowelsAndWXY.contains(letters[end - 1]) && !English.vowels.contains(letters[end - 3])
  }

  private func hasEnglishVowel(before end: Int) -> Bool {
    for index in 0..<max(0, end) where English.vowels.contains(letters[index]) { return true }
    return false
  }

  private mutating func takeOffEnglishPlural() {
    if let (start, _) = ending(in: English.genitives) { cut(at: start) }
    guard let (start, rule) = ending(in: English.plurals) else { return }
    switch rule {
    case .sses: replace(from: start, by: "ss")
    case .ies: replace(from: start, by: start >= 2 ? "i" : "ie")
    case .s: if hasEnglishVowel(before: start - 1) { cut(at: start) }
    case .none: break
    }
  }

  private mutating func takeOffEnglishParticiple() {
    guard let (start, rule) = ending(in: English.participles) else { return }
    if case .eed = rule {
      if start >= region1 { replace(from: start, by: "ee") }
      return
    }
    guard hasEnglishVowel(before: start) else { return }
    cut(at: start)
    switch ending(in: English.afterParticiples)?.rule {
    case .addE: letters.append("e")
    case .double: letters.removeLast()
    case nil: if count == region1, endsWithShortSyllable(before: count) { letters.append("e") }
    }
  }

  private mutating func exchangeEnglishY() {
    guard count >= 3, letters[count - 1] == "y" || letters[count - 1] == "Y" else { return }
    if hasLetter(notOf: English.vowels, before: count - 1) { letters[count - 1] = "i" }
  }

  private mutating func exchangeEnglishDerivation() {
    guard let (start, rule) = ending(in: English.derivations), start >= region1 else { return }
    switch rule {
    case .replace(let text): replace(from: start, by: text)
    case .ogi: if ends(with: "l", before: start) { letters.removeLast() }
    case .li: if hasLetter(of: English.beforeLi, before: start) { cut(at: start) }
    case .ative: break
    }
  }

  private mutating func exchangeSecondEnglishDerivation() {
    guard let (start, rule) = ending(in: English.secondDerivations), start >= region1 else { return }
    switch rule {
    case .replace(let text): replace(from: start, by: text)
    case .ative: if start >= region2 { cut(at: start) }
    case .ogi, .li: break
    }
  }

  private mutating func takeOffLastEnglishSuffix() {
    guard let (start, rule) = ending(in: English.lastSuffixes), start >= region2 else { return }
    switch rule {
    case .delete: cut(at: start)
    case .ion: if ends(with: "s", before: start) || ends(with: "t", before: start) { cut(at: start) }
    }
  }

  private mutating func takeOffEnglishEOrL() {
    let start = count - 1
    if ends(with: "e") {
      if start >= region2 || start >= region1 && !endsWithShortSyllable(before: start) { cut(at: start) }
    } else if ends(with: "ll"), start >= region2 {
      cut(at: start)
    }
  }
}
