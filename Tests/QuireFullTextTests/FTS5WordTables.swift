// Words that begin with each other, of fts5ad, with searches for beginnings whose rows it computes.

extension SearchTable {
  /// The documents of fts5ad, and what it asks.
  static let nestedPrefixes = SearchTable(
    "Words that begin with each other", columns: ["a", "b"], cut: .plain, documents: columns(nestedWords),
    searches: [
      "a*", "ab*", "abc*", "abcd*", "abcde*", "f*", "fg*", "fgh*", "fghi*", "fghij*", "k*", "kl*", "klm*", "klmn*",
      "klmno*", "p*", "pq*", "pqr*", "pqrs*", "pqrst*", "u*", "uv*", "uvw*", "uvwx*", "uvwxy*", "uvwxyz*", "x*",
      "a f*", "a* f*", "a* fghij*",
    ], found: 1973)

  /// Texts of several columns: a line for each document, with bars between its columns.
  private static func columns(_ lines: String) -> [[String]] {
    lines.split(separator: "\n").map { line in
      line.split(separator: "|").map { $0.split(separator: " ").joined(separator: " ") }
    }
  }

  private static let nestedWords = """
    fghij uvwxyz klmn pq uvwx|klmn f fgh uv fghij klmno
    uv f abcd abcd fghi|pq klm uv uv fgh uv a
    klmn klm pqrs fghij uv|f k uvw ab abcd pqr uv
    ab pqrst a fghi ab pqr fg|k klmno a fg abcd
    abcd pqrst uvwx a fgh|f klmno fghij kl pqrst
    uvwxyz k abcde u a|uv k k kl klmn
    uvwxyz k klmn pqrst uv|fghi pqrs abcde u k
    uvwxy klmn u p pqrst fgh|p f fghi abcd uvw kl uv
    f klmno pqrst uvwxy pqrst|uv abcde klm pq pqr
    f abcde a uvwxyz pqrst|fghij abc k uvwx pqr fghij uvwxy
    ab uv f fg pqrst uvwxy|fgh p uv k abc klm uvw
    pq klmno a uvw abcde uvwxyz|fghij pq uvwxyz pqr fghi
    fgh u pq fgh uvw|uvw pqr f uvwxy uvwx
    uvwx klmn f fgh abcd pqr|uvw k fg uv klm abcd
    ab uvwx pqrst pqr uvwxyz pqrs|uvwxyz abcde ab ab uvw abcde
    abc abcde uvwxyz abc kl k pqr|klm k k klmno u fgh
    fghi abcd fghij uv uvwxyz ab uv|klmn pqr a uvw fghi
    abc pqrst fghi uvwx uvw klmn fghi|ab fg pqr pqrs p
    pqr kl a fghij fgh fg kl|pqr uvwxyz uvw abcd uvwxyz
    fghi fghi pqr kl fghi f|klmn u u klmno klmno
    abc pqrst klmno kl pq uvwxy|abc k fghi pqrs klm
    a pqr uvwxyz uv fghi a fgh|abc pqrs pqrst pq klm
    klm abc uvwxyz klm pqrst|fghij k pq pqr u klm fghij
    p klm uv p a a|uvwxy klmn uvw abcde pq
    uv fgh fg pq uvwxy u uvwxy|pqrs a uvw p uvwx uvwxyz fg
    fghij fghi klmn abcd pq kl|fghi abcde pqrs abcd fgh uvwxy
    pq fgh a abc klmno klmn|fgh p k p fg fghij
    fg pq kl uvwx fghij pqrst klmn|abcd uvw abcd fghij f fghij
    uvw fghi p fghij pq fgh uvwx|k fghij abcd uvwx pqr fghi
    klm pq abcd pq f uvwxy|pqrst p fghij pqr p
    ab uvwx fg uvwx klmn klm|klmn klmno fghij klmn klm
    pq k pqr abcd a pqrs|abcd abcd uvw a abcd klmno ab
    pqrst u abc pq klm|abc kl uvwxyz fghij u fghi p
    f uvwxy u k f uvw uvwx|pqrs uvw fghi fg pqrst klm
    pqrs pq fghij uvwxyz pqr|ab abc abc uvw f pq f
    uvwxy ab uvwxy klmno kl pqrs|abcde uvw pqrs uvwx k k
    uvwxyz k ab abcde abc uvw|uvw abcde uvw klmn uv klmn
    k kl uv abcde uvwx fg u|u abc uvwxy k fg abcd
    fghi pqrst fghi pqr pqrst uvwx|u uv uvwx fghi abcde
    k pqrst k uvw fg pqrst fghij|uvwxy ab kl klmn uvwxyz abcde
    fg uvwxy pqrs klmn uvwxyz klm p|k uv ab fghij fgh k pqrs
    uvwx abc f pq uvwxy k|ab uvwxyz abc f fghij
    uvwxy klmno uvwxyz uvwxyz pqrst|uv kl kl klmno k f abcde
    abcde ab pqrs fg f fgh|abc fghij fghi k k
    uvw abcd a ab pqrst klmn fg|pqrst u uvwx pqrst fghij f pqrst
    uvwxy p kl uvwxyz ab pqrst fghi|abc f pqr fg a k
    u p f a fgh|a kl pq uv f
    pqrs abc fghij fg abcde ab a|p ab uv pqrs kl fghi abcd
    abcde uvwxy pqrst uv abc pqr uvwx|uvwxy klm uvwxy uvwx k
    fgh klm abcde klmno u|a f fghij f uvwxyz abc u
    uv uvw uvwxyz uvwxyz uv ab|uvwx pq fg u k uvwxy
    uvwxy pq p kl fghi|pqrs fghi pqrs abcde uvwxyz ab
    pqr p uvwxy kl pqrs klmno fghij|ab abcde abc pqrst pqrs uv
    fgh pqrst p a klmno|ab ab pqrst pqr kl pqrst
    abcd klm ab uvw a fg u|f pqr f abcd uv
    u fg uvwxyz k uvw|abc pqrs f fghij fg pqrs uvwxy
    klm fg p fghi fg a|uv a fghi uvwxyz a fghi
    uvwxy k abcde fgh f fghi|f kl klmn f fghi klm
    klm k fgh uvw fgh fghi|klmno uvwx u pqrst u
    fghi pqr pqrst p uvw fghij|uv pqrst pqrs pq fghij klm
    uvwx klm uvwxy uv klmn|p a a abc klmn ab k
    uvwxy uvwx klm uvwx klm|pqrs ab ab uvwxyz fg
    kl uv uv uvw fg kl k|abcde uvw fgh uvwxy klm
    a abc fgh u klm abcd|fgh pqr uv klmn fghij
    klmn k klmn klmno pqrs pqr|fg kl abcde klmno uvwxy kl pq
    uvwxyz klm fghi abc abcde kl|uvwxy uvw uvwxyz uvwxyz pq pqrst
    pq klm abc pqrst fgh f|u abcde pqrst abcde fg
    u pqrst kl u uvw klmno|u pqr pqrs fgh u p
    abc fghi uvwxy fgh k pq|uv p uvwx uvwxyz ab
    klmno f uvwxyz uvwxy klmn fg ab|fgh kl a pqr abcd pqr
    fghi pqrst pqrst uv a|uvwxy k p uvw uvwx a
    a fghij f p uvw|klm fg abcd abcde klmno pqrs
    uv uvwx uvwx uvw klm|uv fghi klmno uvwxy uvw
    kl uvwxy ab f pq klm u|uvwxy klmn klm abcd pq fg k
    uvw pqrst abcd uvwxyz ab|fgh fgh klmn abc pq
    uvwxyz klm pq abcd klmno pqr uvwxyz|kl f a fg pqr klmn
    uvw uvwxy pqr k pqrst kl|uvwxy abc uvw uvw u
    fgh klm u uvwxyz f uvwxy abcde|uv abcde klmno u u ab
    klmno abc pq pqr fgh|p uv abcd fgh abc u k
    fg pqr uvw pq uvwx|uv uvw fghij pqrs fg p
    abcd pqrs uvwx uvwxy uvwx|u uvw pqrst pqr abcde pqrs kl
    uvwxyz klm pq uvwxy fghij|p pq klm fghij u a a
    uvwx k uvwxyz klmno pqrst kl|abcde p f pqrst abcd uvwxyz p
    abcd abcde klm pqrst uvwxyz|uvw pqrst u p uvwxyz a pqrs
    k klm abc uv uvwxy klm klmn|k abc pqr a abc p kl
    klmn abcd pqrs p pq klm a|klmn kl ab uvw pq
    klmn a pqrs abc uvw pqrst|a pqr kl klm a k f
    pqrs ab uvwx uvwxy a pqr f|fg klm uvwx pqr pqr
    klmno ab k kl u uvwxyz|uv kl uvw fghi uv uvw
    pq fghi pqrst klmn uvwxy abc pqrs|fg f f fg abc abcde klm
    kl a k fghi uvwx fghi u|ab uvw pqr fg a p abc
    uvwx pqrs klmno ab fgh uvwx|pqr uvwx abc kl f klmno kl
    fghij pq pqrs fghij f pqrst|u abcde fg pq pqr fgh k
    fgh u pqrs abcde klmno abc|abc fg pqrst pqr abcde
    uvwx p abc f pqr p|k pqrs kl klm abc fghi klm
    kl p klmno uvwxyz klmn|fghi ab a fghi pqrs kl
    pqr fgh pq uvwx a|uvw klm klmno fg uvwxy uvwx
    fg abc uvwxyz fghi pqrst pq|abc k a ab abcde f
    uvwxy fghi uvwxy u abcde abcde uvw|klmn uvwx pqrs uvw uvwxy abcde
    pq fg fghi uvwx uvwx fghij uvwxy|klmn klmn f abc fg a
    """
}
