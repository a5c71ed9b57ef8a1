// The listing of the recipe “A server with Hummingbird”.

import Hummingbird
import Quire

extension Letter: ResponseEncodable {}

struct LetterServer: Sendable {
  let db: Database

  func router() -> Router<BasicRequestContext> {
    let router = Router()
    router.get("letters/:key") { _, context -> Letter in
      let key = try context.parameters.require("key")
      guard let letter = try await db.read({ tx in try tx[.letters].get(key) }) else { throw HTTPError(.notFound) }
      return letter
    }
    router.put("letters/:key") { request, context -> HTTPResponse.Status in
      let key = try context.parameters.require("key")
      let letter = try await request.decode(as: Letter.self, context: context)
      try await db.write { tx in try tx[.letters].set(letter, for: key) }
      return .noContent
    }
    router.get("unread/:box") { _, context -> Response in
      let box = try context.parameters.require("box")
      let counts = db.observe { tx in try tx.view(MailViews.unread).count(in: box) }.removingDuplicates()
      let body = ResponseBody { writer in
        for try await count in counts { try await writer.write(ByteBuffer(string: "data: \(count)\n\n")) }
        try await writer.finish(nil)
      }
      return Response(status: .ok, headers: [.contentType: "text/event-stream"], body: body)
    }
    return router
  }
}
