package escape

// XML is Block for character data of an XML 1.0 document (JUnit): a character
// that XML forbids becomes visible or U+FFFD. Markup is not escaped: the encoder
// does that, once.
func XML(s string) string { return Block(s) }

// XMLAttr is Line for the value of an attribute, as XML.
func XMLAttr(s string) string { return Line(s) }

// JSON is Block for a string of a JSON document that people read: valid UTF-8,
// no control or hidden character that a viewer would act on. Quotes and
// backslashes are the encoder's business. A value that must stay exact (a
// definition) is not passed through it.
func JSON(s string) string { return Block(s) }
