// Stems of French words.

/// Snowball's rules for French.
private enum French {
  static let vowels = LetterSet("aeiouyâàëéêèïîôûù")
  /// Behind these, a last s stays.
  static let beforeKeptS = LetterSet("aiouès")

  enum Standard {
    case delete, deleteIc, replace(String), ement, ite, ifIve, eau, al, euse, issement, amment, emment, ment
  }

  static let standard = SuffixTable([
    "ance iqUe isme able iste eux ances iqUes ismes ables istes": Standard.delete,
    "atrice ateur ation atrices ateurs ations": .deleteIc, "logie logies": .replace("log"),
    "usion ution usions utions": .replace("u"), "ence ences": .replace("ent"), "ement ements": .ement,
    "ité ités": .ite, "if ive ifs ives": .ifIve, "eaux": .eau, "aux": .al, "euse euses": .euse,
    "issement issements": .issement, "amment": .amment, "emment": .emment, "ment ments": .ment,
  ])

  enum BeforeEment { case iv, eus, delete, ier }

  static let beforeEment = SuffixTable([
    "iv": BeforeEment.iv, "eus": .eus, "abl iqU": .delete, "ièr Ièr": .ier,
  ])

  /// What comes in the place of the ending where it does not lie in region 2.
  static let beforeIte = SuffixTable(["abil": "abl", "ic": "iqU", "iv": "iv"])

  static let iVerbs = SuffixTable([
    """
    îmes ît îtes i ie ies ir ira irai iraIent irais irait iras irent irez iriez irions irons iront is issaIent issais \
    issait issant issante issantes issants isse issent isses issez issiez issions issons it
    """: ()
  ])

  enum Verb { case ions, delete, deleteE }

  static let verbs = SuffixTable([
    "ions": Verb.ions,
    "é ée ées és èrent er era erai eraIent erais erait eras erez eriez erions erons eront ez iez": .delete,
    "âmes ât âtes a ai aIent ais ait ant ante antes ants as asse assent asses assiez assions": .deleteE,
  ])

  enum Residue { case ion, ier, e }

  static let residues = SuffixTable(["ion": Residue.ion, "ier ière Ier Ière": .ier, "e": .e])

  static let doubled = SuffixTable(["enn onn ett ell eill": ()])
}

extension StemmedWord {
  /// Leaves the stem of a French word.
  mutating func stemFrench() {
    markFrench()
    findRegions(vowels: French.vowels)
    regionV = frenchRegionV()
    if takeOffStandardFrenchSuffix() || takeOffFrenchIVerb() || takeOffFrenchVerb() {
      if letters.last == "Y" {
        letters[count - 1] = "i"
      } else if letters.last == "ç" {
        letters[count - 1] = "c"
      }
    } else {
      takeOffFrenchResidue()
    }
    if ending(in: French.doubled) != nil { letters.removeLast() }
    takeOffFrenchAccent()
    unmarkFrench()
  }

  /// Marks u and i between vowels, y beside a vowel and u behind q as U, I and Y, and writes ë and ï as He and Hi.
  private mutating func markFrench() {
    for index in letters.indices {
      if French.vowels.contains(letters[index]) { markFrenchLetter(behind: index) }
      switch letters[index] {
      case "y": if hasFrenchVowel(at: index + 1) { letters[index] = "Y" }
      case "q": if index + 1 < count, letters[index + 1] == "u" { letters[index + 1] = "U" }
      default: break
      }
    }
    expand { $0 == "ë" ? ("H", "e") : $0 == "ï" ? ("H", "i") : nil }
  }

  /// Marks the letter behind a vowel.
  private mutating func markFrenchLetter(behind index: Int) {
    guard index + 1 < count else { return }
    switch letters[index + 1] {
    case "u": if hasFrenchVowel(at: index + 2) { letters[index + 1] = "U" }
    case "i": if hasFrenchVowel(at: index + 2) { letters[index + 1] = "I" }
    case "y": letters[index + 1] = "Y"
    default: break
    }
  }

  private func hasFrenchVowel(at index: Int) -> Bool { index < count && French.vowels.contains(letters[index]) }

  /// Behind the third letter of a word that begins with two vowels, else behind the first vowel that is not its first
  /// letter; some beginnings are exceptions.
  private func frenchRegionV() -> Int {
    if count >= 3, French.vowels.contains(letters[0]), French.vowels.contains(letters[1]) { return 3 }
    if begins(with: "par") || begins(with: "col") || begins(with: "tap") { return 3 }
    return index(past: French.vowels, from: 1) ?? count
  }

  /// - Returns: whether there was one that goes, and endings of verbs need not be looked for.
  private mutating func takeOffStandardFrenchSuffix() -> Bool {
    guard let (start, rule) = ending(in: French.standard) else { return false }
    switch rule {
    case .delete, .deleteIc, .replace, .ite, .ifIve:
      guard start >= region2 else { return false }
      replaceInRegion2(from: start, rule)
    case .ement:
      guard start >= regionV else { return false }
      cut(at: start)
      takeOffBeforeEment()
    case .eau: letters.removeLast()
    case .al:
      guard start >= region1 else { return false }
      replace(from: start, by: "al")
    case .euse: return cutOrExchangeEus(at: start)
    case .issement:
      guard start >= region1, hasLetter(notOf: French.vowels, before: start) else { return false }
      cut(at: start)
    case .amment, .emment, .ment:
      takeOffMent(from: start, rule)
      return false
    }
    return true
  }

  private mutating func replaceInRegion2(from start: Int, _ rule: French.Standard) {
    if case .replace(let text) = rule { return replace(from: start, by: text) }
    cut(at: start)
    switch rule {
    case .deleteIc: takeOffFrenchIc()
    case .ite:
      guard let (before, other) = ending(in: French.beforeIte) else { return }
      replace(from: before, by: before >= region2 ? "" : other)
    case .ifIve:
      guard ends(with: "at"), count - 2 >= region2 else { return }
      cut(at: count - 2)
      takeOffFrenchIc()
    case .delete, .replace, .ement, .eau, .al, .euse, .issement, .amment, .emment, .ment: break
    }
  }

  /// Takes an *ic* off in region 2, else writes it as *iqU*.
  private mutating func takeOffFrenchIc() {
    if ends(with: "ic") { replace(from: count - 2, by: count - 2 >= region2 ? "" : "iqU") }
  }

  private mutating func takeOffBeforeEment() {
    guard let (start, rule) = ending(in: French.beforeEment) else { return }
    switch rule {
    case .iv:
      guard start >= region2 else { return }
      cut(at: start)
      if ends(with: "at"), count - 2 >= region2 { cut(at: count - 2) }
    case .eus: _ = cutOrExchangeEus(at: start)
    case .delete: if start >= region2 { cut(at: start) }
    case .ier: if start >= regionV { replace(from: start, by: "i") }
    }
  }

  /// Takes an ending off in region 2, or writes it as *eux* in region 1.
  ///
  /// - Returns: whether it lies in one of them.
  private mutating func cutOrExchangeEus(at start: Int) -> Bool {
    guard start >= region2 || start >= region1 else { return false }
    replace(from: start, by: start >= region2 ? "" : "eux")
    return true
  }

  /// Takes *-ment* off an adverb; what is left may be a verb's form.
  private mutating func takeOffMent(from start: Int, _ rule: French.Standard) {
    switch rule {
    case .amment: if start >= regionV { replace(from: start, by: "ant") }
    case .emment: if start >= regionV { replace(from: start, by: "ent") }
    default: if hasLetter(of: French.vowels, before: start), start - 1 >= regionV { cut(at: start) }
    }
  }

  /// - Returns: whether there was one that goes.
  private mutating func takeOffFrenchIVerb() -> Bool {
    guard let (start, _) = ending(in: French.iVerbs, limit: regionV), start > regionV else { return false }
    guard letters[start - 1] != "H", hasLetter(notOf: French.vowels, before: start) else { return false }
    cut(at: start)
    return true
  }

  /// - Returns: whether there was one that goes.
  private mutating func takeOffFrenchVerb() -> Bool {
    guard let (start, rule) = ending(in: French.verbs, limit: regionV) else { return false }
    if case .ions = rule, start < region2 { return false }
    cut(at: start)
    if case .deleteE = rule, start > regionV, ends(with: "e") { letters.removeLast() }
    return true
  }

  private mutating func takeOffFrenchResidue() {
    if ends(with: "s"), count >= 2 {
      if ends(with: "Hi", before: count - 1) || !French.beforeKeptS.contains(letters[count - 2]) {
        letters.removeLast()
      }
    }
    guard let (start, rule) = ending(in: French.residues, limit: regionV) else { return }
    switch rule {
    case .ion:
      guard start >= region2, start > regionV else { return }
      if letters[start - 1] == "s" || letters[start - 1] == "t" { cut(at: start) }
    case .ier: replace(from: start, by: "i")
    case .e: cut(at: start)
    }
  }

  /// Writes é and è as e before the consonants at the end.
  private mutating func takeOffFrenchAccent() {
    var index = count
    while hasLetter(notOf: French.vowels, before: index) { index -= 1 }
    guard index < count, index > 0 else { return }
    if letters[index - 1] == "é" || letters[index - 1] == "è" { letters[index - 1] = "e" }
  }

  /// Writes marked letters as they were.
  private mutating func unmarkFrench() {
    var (read, write) = (0, 0)
    while read < count {
      var letter = letters[read]
      read += 1
      switch letter {
      case "I": letter = "i"
      case "U": letter = "u"
      case "Y": letter = "y"
      case "H":
        guard read < count, letters[read] == "e" || letters[read] == "i" else { continue }
        letter = letters[read] == "e" ? "ë" : "ï"
        read += 1
      default: break
      }
      letters[write] = letter
      write += 1
    }
    cut(at: write)
  }
}
