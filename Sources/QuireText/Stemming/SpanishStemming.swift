// Stems of Spanish words.

/// Snowball's rules for Spanish.
private enum Spanish {
  static let vowels = LetterSet("aeiouáéíóúü")

  static let pronouns = SuffixTable(["me se sela selo selas selos la le lo las les los nos": ()])

  enum BeforePronoun {
    case replace(String), delete, yendo
  }

  static let beforePronouns = SuffixTable([
    "iéndo": BeforePronoun.replace("iendo"), "ándo": .replace("ando"), "ár": .replace("ar"), "ér": .replace("er"),
    "ír": .replace("ir"), "ando iendo ar er ir": .delete, "yendo": .yendo,
  ])

  enum Standard { case delete, deleteIc, log, u, ente, amente, mente, idad, ivo }

  static let standard = SuffixTable([
    """
    anza anzas ico ica icos icas ismo ismos able ables ible ibles ista istas oso osa osos osas amiento amientos \
    imiento imientos
    """: Standard.delete,
    "adora ador ación adoras adores aciones ante antes ancia ancias": .deleteIc,
    "logía logías": .log, "ución uciones": .u, "encia encias": .ente, "amente": .amente, "mente": .mente,
    "idad idades": .idad, "iva ivo ivas ivos": .ivo,
  ])

  static let beforeAmente = SuffixTable(["iv": true, "os ic ad": false])
  static let beforeMente = SuffixTable(["ante able ible": ()])
  static let beforeIdad = SuffixTable(["abil ic iv": ()])

  static let yVerbs = SuffixTable(["ya ye yan yen yeron yendo yo yó yas yes yais yamos": ()])

  /// True where a *u* behind *g* goes, too.
  static let verbs = SuffixTable([
    "en es éis emos": true,
    """
    arían arías arán arás aríais aría aréis aríamos aremos ará aré erían erías erán erás eríais ería eréis eríamos \
    eremos erá eré irían irías irán irás iríais iría iréis iríamos iremos irá iré aba ada ida ía ara iera ad ed id ase \
    iese aste iste an aban ían aran ieran asen iesen aron ieron ado ido ando iendo ió ar er ir as abas adas idas ías \
    aras ieras ases ieses ís áis abais íais arais ierais aseis ieseis asteis isteis ados idos amos ábamos íamos imos \
    áramos iéramos iésemos ásemos
    """: false,
  ])

  /// True where a *u* behind *g* goes, too.
  static let residues = SuffixTable(["os a o á í ó": false, "e é": true])
}

extension StemmedWord {
  /// Leaves the stem of a Spanish word.
  mutating func stemSpanish() {
    regionV = southernRegionV(vowels: Spanish.vowels)
    findRegions(vowels: Spanish.vowels)
    takeOffSpanishPronoun()
    if !takeOffStandardSpanishSuffix(), !takeOffSpanishYVerb() { takeOffSpanishVerb() }
    takeOffSpanishResidue()
    unmarkSpanish()
  }

  /// Takes off a pronoun behind the infinitive or the gerund that it belongs to, which loses its accent then.
  private mutating func takeOffSpanishPronoun() {
    guard let (pronoun, _) = ending(in: Spanish.pronouns),
      let (start, rule) = ending(in: Spanish.beforePronouns, before: pronoun), start >= regionV
    else { return }
    switch rule {
    case .replace(let text): replace(from: start, by: text)
    case .delete: cut(at: pronoun)
    case .yendo: if ends(with: "u", before: start) { cut(at: pronoun) }
    }
  }

  /// - Returns: whether there was one that goes.
  private mutating func takeOffStandardSpanishSuffix() -> Bool {
    guard let (start, rule) = ending(in: Spanish.standard) else { return false }
    if case .amente = rule {
      guard start >= region1 else { return false }
      cut(at: start)
      takeOffBeforeAmente()
      return true
    }
    guard start >= region2 else { return false }
    switch rule {
    case .log: replace(from: start, by: "log")
    case .u: replace(from: start, by: "u")
    case .ente: replace(from: start, by: "ente")
    case .delete, .deleteIc, .amente, .mente, .idad, .ivo: cut(at: start)
    }
    switch rule {
    case .deleteIc: cutInRegion2("ic")
    case .ivo: cutInRegion2("at")
    case .mente: if let (before, _) = ending(in: Spanish.beforeMente), before >= region2 { cut(at: before) }
    case .idad: if let (before, _) = ending(in: Spanish.beforeIdad), before >= region2 { cut(at: before) }
    case .delete, .log, .u, .ente, .amente: break
    }
    return true
  }

  private mutating func takeOffBeforeAmente() {
    guard let (start, isIv) = ending(in: Spanish.beforeAmente), start >= region2 else { return }
    cut(at: start)
    if isIv { cutInRegion2("at") }
  }

  /// Takes an ending off if it lies in region 2.
  private mutating func cutInRegion2(_ text: String) {
    if ends(with: text), count - text.utf8.count >= region2 { cut(at: count - text.utf8.count) }
  }

  /// - Returns: whether there was one that goes.
  private mutating func takeOffSpanishYVerb() -> Bool {
    guard let (start, _) = ending(in: Spanish.yVerbs, limit: regionV), ends(with: "u", before: start) else {
      return false
    }
    cut(at: start)
    return true
  }

  private mutating func takeOffSpanishVerb() {
    guard let (start, takesU) = ending(in: Spanish.verbs, limit: regionV) else { return }
    cut(at: takesU && ends(with: "gu", before: start) ? start - 1 : start)
  }

  private mutating func takeOffSpanishResidue() {
    guard let (start, takesU) = ending(in: Spanish.residues), start >= regionV else { return }
    cut(at: start)
    if takesU, ends(with: "gu"), count - 1 >= regionV { letters.removeLast() }
  }

  /// Takes acute accents off.
  private mutating func unmarkSpanish() {
    for index in letters.indices {
      switch letters[index] {
      case "á": letters[index] = "a"
      case "é": letters[index] = "e"
      case "í": letters[index] = "i"
      case "ó": letters[index] = "o"
      case "ú": letters[index] = "u"
      default: break
      }
    }
  }
}
