// Documents of single letters from FTS5's scripts, with searches whose rows those compute.

extension SearchTable {
  /// Texts of letters: a line for each document, a word for each column, whose characters are the words of the text.
  static func letters(_ lines: String) -> [[String]] {
    lines.split(separator: "\n").map { line in
      line.split(separator: " ").map { $0 == "-" ? "" : $0.map(String.init).joined(separator: " ") }
    }
  }

  /// The hundred documents of fts5ac.
  static let hundredOfLetters = letters(
    """
    poqezkzpnfyuzyny loolvvk
    pkhhpyllhipvn pplurifajgerrxw
    lszjkimps lwejtjeeitwropo
    xgymymhp kjjbreyyaky
    qmaiyiz owagkxgjmweuk
    koawybsz sglmmlmgp
    daqizhblcpkjgk pxujxtvcz
    fdagocti wfcxldrkij
    ygwubqpomjybpaek ridkywozqmatp
    rkomccjsxmxmxmqr yrcaqdzknxn
    kjqmgqajd ddezgwhcdoogxd
    jzumoyqjfweewtrjw gmorxntnwifglzf
    sywawdohxmk cwkzbpora
    uthxegskngi fjwgcsr
    bficsuztk ckqsjuizo
    nafnuswhynsiqew xgegasshn
    ksqejnp trjftoekklmi
    gdtuwropmnmnphbou hswosljew
    flqyqqgeexjr nbrrgeirtxqk
    firgoawepiloaw ekrztdghgibdiem
    lduufpy gommuxmgljttxxu
    mcdkxiczl miaieuh
    wbfocgxyj zdwxdfhip
    wuiuxtchkib bykhbvrtgj
    hfdjswsbapk aqyuzeymmjqr
    dixyxxkiyfsdjhzpn llqmetcwgyhtsvg
    gsqwtdkxgfmjpky rmbxeltd
    jlsqugyveclo mflmmmhgxxlnc
    ctjgvrsbzj lcfydtqn
    exzywihl bnbxeyqenum
    gyyhjbwr qbqfuskckgr
    gulxlbrcmzbuc kgtbxkxntezdho
    wgvlzfbzhpscvh gewvmhkrgwarfq
    cgnfudoyob eyohxxyyizsbhaj
    vyhcquusqyxxksq dnrmykntirnwe
    oucxlebta ybaxyfzxr
    xphljaauujh xofszmbcqp
    kqticaqnmvv vrzefmyo
    rwttttrvvoepgh lwxagauhy
    opvgvbago jtqcrbbgyz
    fsorodthqfxl rdbmkifstdlmyxjw
    tmotmfmf ipiqjvnvmbq
    txwarlwdtbcodo ahfhwzdns
    tuqcdgpqxjolcxc mntozzjay
    vdiikbfszrvrzy gnqysxxmbxclw
    pvvacszyeol mvtudkmkqbdcvzr
    fykldrqwrstre hmvrrlrrtfqexy
    wlnltyx nhslafchuflxxmvno
    tnvikebpzpdjjlio ivzpguejsiknhwdc
    zvxpnltajc ejlencetad
    wubxuivhaiymmrpms srhdogzyffxe
    dccxbcaxg prajvuy
    fwgrcodltuezhi jllssbjm
    pmtfkix uvyazgwvvmxhi
    lczglojicdeb bfvywuibeiy
    rhcxfxads zxykflrbqcv
    vxxcyhzxbgmoqnc hnbitghaqbcoru
    dglohtbsbr nueptimu
    tdyetdcwuoswxfch iosvybrdr
    lbapqndr kdccdnyqhgaopex
    frzvmpkr xxrisbagfc
    sazierfiwcnyvztks yyirynlsbwiekn
    nxprexqrmviby foooznbsrqj
    yjsujxonrqtf fvknvxusoadefe
    usilycxq rkchpchbossuspb
    mpiosho swhundmnqtykbwc
    ldfgmxxxo swddfbyjjhhtiypjo
    cbmhfnvwnh irwiexrwlzpxuguls
    yahuhimayq ddrxhevqnzycj
    cxfdxonpobrtblpl mitkbxvfptmllyro
    utlwwms mfmoltkope
    fgqelndmzxq zsiiimfwwfngpeq
    nlhavuodfjdex vvslfgdgrajxifzx
    xvmvfigqew rysjikmjjedgrnoif
    gdynohpsyqzjdwnhw xodltjibrdory
    pgbiurbeqdvoagwmk qyzsfqoh
    uzaqufiffb bspbaadxrriqf
    whhzthpoahhee hwrphkzvyfrx
    carkiapux fwlpteml
    qqukotrkz fbmcwpssoz
    tigvyqsrxmrxzef xojwaueysjcbuppro
    njnhrlareozwe vorrjavb
    ifidkwdnh oidzizlmwsbqvu
    mdgqqbkbwfqqpp jmqfbycizkyqplea
    mxonyfg ycnxnqjiyclhbrqz
    vozlnpc gnjntbbxncldagjv
    znayfbtkktdbzav rpcnruku
    bqtxzecw qaoaloahimjr
    jfhoxxazgbafamib jzczyxexwt
    tctprsucqn zxliknfqlnt
    wtdqjgmrfkn lewfwwalyqkiqtpct
    cboklicbsjnmbl yfpqowg
    fydjoqtccqmfjst fhedymok
    kxjrmadoizj rtttfebrxivjvgo
    sfeaetihhdqpztq bkmkwhc
    hbnjtkihoqu wngitokcampyflxcp
    fcxpyrbmolmoa pcaqsunnxdcfao
    uhhkmnk ubvnuaoc
    spetczdfnwf lsfjblcesh
    rcvwivhatacvcre hhumgofbaeo
    """)

  /// What fts5ac asks.
  static let lettersOfTwoColumns = SearchTable(
    "Letters of two columns", columns: ["x", "y"], cut: .plain, documents: hundredOfLetters,
    searches: [
      "a   OR b", "a   AND b", "o", "b q", "e a e", "m d g q q b k b w f q q p p", "l o o l v v k", "a", "b", "c", "no",
      "L O O L V V K", "a AND b AND c", "x:a", "y:a", "x:b", "y:b", "{x}:a", "{y}:a", "{x}:b", "{y}:b", "{x y}:a",
      "{y x}:a", "{x x}:b", "{y y}:b", "{\"x\" \"y\"}:a", "{\"y\" x}:a", "{x \"x\"}:b", "{\"y\" y}:b", "b + q",
      "e + a + e", "m + d + g + q + q + b + k + b + w + f + q + q + p + p", "l + o + o + l + v + v + k",
      "L + O + O + L + V + V + K", "a+b AND c", "d+c AND u", "d+c AND u+d", "a+b OR c", "d+c OR u", "d+c OR u+d",
      "NEAR(a b)", "NEAR(r c)", "NEAR(r c, 5)", "NEAR(r c, 3)", "NEAR(r c, 2)", "NEAR(r c, 0)", "NEAR(a b c)",
      "NEAR(a b c, 8)", "x : NEAR(r c)", "y : NEAR(r c)", "x : \"r c\"", "y : \"r c\"", "a OR b AND c", "c AND b OR a",
      "c AND (b OR a)", "c NOT (b OR a)", "(c NOT b) OR (a AND d)",
    ], found: 1704)

  /// What fts5ag asks, over the documents of fts5ac.
  static let rankedLetters = SearchTable(
    "Letters that are ranked", columns: ["x", "y"], cut: .plain, documents: hundredOfLetters,
    searches: ["a", "b", "c", "d", "\"m m\"", "e + s", "a AND b", "a OR b", "b OR c AND d", "NEAR(c d)"], found: 467)

  /// The document of fts5auto, as it is and with its letters folded into twelve and into three.
  static let sixColumns = SearchTable(
    "Letters of six columns", columns: ["a", "b", "c", "d", "e", "f"], cut: .plain,
    documents: letters(
      """
      dhvwuzrehxolt psfywyrqdamw chgcgjjftbicq se ctqjgf vnrwyrageid
      bdkkjmibdlgkj hjckmimiabgk bddbdeecjaebi jc bjiedc kgikmiadecb
      acccccaacbbbc bcaccccbaabc aaaaabbacabbc ca accbaa cbccccaaaba
      """),
    searches: [
      "{a} : x", "{a b} : x", "{a b f} : x", "{f a b} : x", "{f a b} : x y", "{f a b} : x + y", "{c a b} : x + c",
      "{c d} : \"l m\"", "{c e} : \"l m\"", "{a b c a b c a b c f f e} : \"l m\"", "a NOT b", "a NOT a:b",
      "a OR (b AND c)", "a OR (b AND {a b c}:c)", "a OR \"b c\"", "a OR b OR c", "a OR (b AND \"b c\")",
      "a OR (b AND \"z c\")", "{c d} : \"s e\"", "{d} : ^s", "NEAR(h x, 3)", "{c e} : \"c g\"", "f : \"v n r\"",
    ], found: 29)

  /// What fts5phrase asks.
  static let phrasesOfColumns = SearchTable(
    "Phrases in sets of columns", columns: ["a", "b", "c"], cut: .plain,
    documents: letters(
      """
      dea dijjf ijiebfh
      gae fgiga hdgighc
      ead eihaf cehifbi
      agc djdjc cdfjigj
      bcb jgcdf jcjdgfb
      jad ebihh ccfgdid
      adf hgiii eagcifb
      gfd fcgbj bbhhhjj
      fhg cjfgj dhdfebh
      fhd ciadb gbjbade
      jhh jihag deieagj
      abe hgagc hcaadeg
      ajg ihifi aghjgib
      jhe fedie idcfedc
      djd dbiac gdhidbe
      hje ebbcf jafghdj
      cbj cabai hfidadc
      eed idfcc gidafea
      eig eabih ifddadf
      hgf bhhjd ifdegja
      ehf jcbcf jajghac
      dch bgice iicdehi
      ahi agdff efiibbh
      ddg ccbcg gchebce
      abb bfadi dahabci
      afd ajeah jihjaif
      djd hadia hhfjhga
      gae dgfag idbcggj
      jeh gjhjg daejaah
      eje gejgc fcebeea
      hff ijgec jjfcaij
      agc cgdbi ghcbaaf
      chi jdhee ahidccj
      dac eddbj cebbhih
      dfh cafcc jbbccjf
      bgh gcccf cgcfhee
      fea bhfjh jghfdgf
      hfa aeijg fdafdfc
      fic fiiii ecfdhjf
      hhd diedi dfeiaha
      fgc dafch bbgjceg
      hih hdjde edbbieg
      bhi jeida jjheeca
      gig fccfd acicada
      ccf abjdb caegfec
      dhj gcbjd eahfhjg
      aad jejai idcfffb
      bgj ecihf ddhbgad
      cia acccc ehiehie
      ffc ffbii ffajeci
      """),
    searches: [
      "{a}:c+c", "{b}:c+c", "{c}:c+c", "{a b c}:c+c", "{a b c}:b+h", "{a b}:b+h", "{a c}:b+h", "{c a}:b+h", "{c}:i+e",
      "{b}:i+e", "{a}:i+e", "a:f+f",
    ], found: 47)
}
