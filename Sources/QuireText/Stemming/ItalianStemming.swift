// Stems of Italian words.

/// Snowball's rules for Italian.
private enum Italian {
  static let vowels = LetterSet("aeiouàèìòù")
  /// Last letters that go.
  static let finals = LetterSet("aeioàèìò")

  static let pronouns = SuffixTable([
    """
    ci gli la le li lo mi ne si ti vi sene gliela gliele glieli glielo gliene mela mele meli melo mene tela tele teli \
    telo tene cela cele celi celo cene vela vele veli velo vene
    """: ()
  ])

  /// True where an *e* comes in the place of the pronoun.
  static let beforePronouns = SuffixTable(["ando endo": false, "ar er ir": true])

  enum Standard { case delete, deleteIc, log, u, ente, deleteInV, amente, ita, ivo }

  static let standard = SuffixTable([
    """
    anza anze ico ici ica ice iche ichi ismo ismi abile abili ibile ibili ista iste isti istà istè istì oso osi osa \
    ose mente atrice atrici ante anti
    """: Standard.delete,
    "azione azioni atore atori": .deleteIc, "logia logie": .log, "uzione uzioni usione usioni": .u,
    "enza enze": .ente, "amento amenti imento imenti": .deleteInV, "amente": .amente, "ità": .ita,
    "ivo ivi iva ive": .ivo,
  ])

  static let beforeAmente = SuffixTable(["iv": true, "os ic abil": false])
  static let beforeIta = SuffixTable(["abil ic iv": ()])

  static let verbs = SuffixTable([
    """
    ammo ando ano are arono asse assero assi assimo ata ate ati ato ava avamo avano avate avi avo emmo enda ende endi \
    endo erà erai eranno ere erebbe erebbero erei eremmo eremo ereste eresti erete erò erono essero ete eva evamo \
    evano evate evi evo Yamo iamo immo irà irai iranno ire irebbe irebbero irei iremmo iremo ireste iresti irete irò \
    irono isca iscano isce isci isco iscono issero ita ite iti ito iva ivamo ivano ivate ivi ivo ono uta ute uti uto \
    ar ir
    """: ()
  ])
}

extension StemmedWord {
  /// Leaves the stem of an Italian word.
  mutating func stemItalian() {
    markItalian()
    regionV = southernRegionV(vowels: Italian.vowels)
    findRegions(vowels: Italian.vowels)
    takeOffItalianPronoun()
    if !takeOffStandardItalianSuffix(), let (start, _) = ending(in: Italian.verbs, limit: regionV) { cut(at: start) }
    takeOffItalianVowel()
    unmarkItalian()
  }

  /// Writes acute accents as grave ones, and marks u and i between vowels, and u behind q, as U and I.
  private mutating func markItalian() {
    for index in letters.indices {
      switch letters[index] {
      case "á": letters[index] = "à"
      case "é": letters[index] = "è"
      case "í": letters[index] = "ì"
      case "ó": letters[index] = "ò"
      case "ú": letters[index] = "ù"
      case "u": if index > 0, letters[index - 1] == "q" { letters[index] = "U" }
      default: break
      }
    }
    for index in letters.indices.dropFirst().dropLast() {
      guard letters[index] == "u" || letters[index] == "i" else { continue }
      if Italian.vowels.contains(letters[index - 1]), Italian.vowels.contains(letters[index + 1]) {
        letters[index] = letters[index] == "u" ? "U" : "I"
      }
    }
  }

  /// Takes off a pronoun behind the infinitive or the gerund that it belongs to.
  private mutating func takeOffItalianPronoun() {
    guard let (pronoun, _) = ending(in: Italian.pronouns),
      let (start, takesE) = ending(in: Italian.beforePronouns, before: pronoun), start >= regionV
    else { return }
    replace(from: pronoun, by: takesE ? "e" : "")
  }

  /// - Returns: whether there was one that goes.
  private mutating func takeOffStandardItalianSuffix() -> Bool {
    guard let (start, rule) = ending(in: Italian.standard) else { return false }
    switch rule {
    case .deleteInV: guard start >= regionV else { return false }
    case .amente: guard start >= region1 else { return false }
    case .delete, .deleteIc, .log, .u, .ente, .ita, .ivo: guard start >= region2 else { return false }
    }
    switch rule {
    case .log: replace(from: start, by: "log")
    case .u: replace(from: start, by: "u")
    case .ente: replace(from: start, by: "ente")
    case .delete, .deleteIc, .deleteInV, .amente, .ita, .ivo: cut(at: start)
    }
    takeOffBefore(rule)
    return true
  }

  /// Takes off what stands before an ending that is gone.
  private mutating func takeOffBefore(_ rule: Italian.Standard) {
    switch rule {
    case .deleteIc: _ = cutInRegion2("ic")
    case .amente:
      guard let (start, isIv) = ending(in: Italian.beforeAmente), start >= region2 else { return }
      cut(at: start)
      if isIv { _ = cutInRegion2("at") }
    case .ita: if let (start, _) = ending(in: Italian.beforeIta), start >= region2 { cut(at: start) }
    case .ivo: if cutInRegion2("at") { _ = cutInRegion2("ic") }
    case .delete, .log, .u, .ente, .deleteInV: break
    }
  }

  /// Takes an ending off if it lies in region 2.
  ///
  /// - Returns: whether it did.
  private mutating func cutInRegion2(_ text: String) -> Bool {
    guard ends(with: text), count - text.utf8.count >= region2 else { return false }
    cut(at: count - text.utf8.count)
    return true
  }

  /// Takes off a last vowel, an i before it, and the h of a ch or gh that is left.
  private mutating func takeOffItalianVowel() {
    if hasLetter(of: Italian.finals, before: count), count - 1 >= regionV {
      letters.removeLast()
      if ends(with: "i"), count - 1 >= regionV { letters.removeLast() }
    }
    if ends(with: "ch") || ends(with: "gh"), count - 2 >= regionV { letters.removeLast() }
  }

  private mutating func unmarkItalian() {
    exchange("I", "i")
    exchange("U", "u")
  }
}
